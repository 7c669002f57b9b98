# docker build -t fairpriv . && docker run --rm --init -p 127.0.0.1:8501:8501 -v fairpriv:/data fairpriv
# --build-arg STAGE=space makes what a Hugging Face Space runs for strangers to try: examples/space, docs/deploy.md.
# --build-arg BASE=python@sha256:… names the base by its digest, which a tag does not hold to.
ARG BASE=python:3.11-slim
ARG STAGE=server
FROM ${BASE} AS server
RUN apt-get update \
    && apt-get install -y --no-install-recommends chromium fonts-liberation \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 fairpriv \
    && install -d -o fairpriv -g fairpriv -m 0700 /data /fairpriv
USER fairpriv
WORKDIR /fairpriv
ENV PIP_NO_CACHE_DIR=1 PYTHONUNBUFFERED=1 XDG_CACHE_HOME=/data FAIRPRIV_STORE=/data/runs.db STREAMLIT_SERVER_PORT=8501
# what packages are asked for, before the code that uses them: a change of code alone installs nothing anew; the files
# that are touched are named in pyproject.toml and not read
COPY --chown=fairpriv fairpriv pyproject.toml requirements.txt constraints.txt LICENSE NOTICE ./
RUN touch README.md app.py \
    && ./fairpriv setup \
    && .venv/bin/python -m pip install -c constraints.txt -e ".[postgres,sign-in]"
COPY --chown=fairpriv . .
VOLUME /data
EXPOSE 8501
HEALTHCHECK --interval=30s --start-period=30s CMD .venv/bin/python -c "import os, urllib.request as web; \
    here = 'http://localhost:' + os.environ['STREAMLIT_SERVER_PORT']; \
    web.urlopen('/'.join(filter(None, (here, os.environ.get('STREAMLIT_SERVER_BASE_URL_PATH'), '_stcore/health'))))"
CMD ["./fairpriv", "app", "--server.address", "0.0.0.0"]

FROM server AS space
ENV STREAMLIT_SERVER_PORT=7860
EXPOSE 7860
CMD ["sh", "-c", "exec ./fairpriv try --server.address 0.0.0.0 --server.allowedHosts \"$SPACE_HOST\""]

FROM ${STAGE}
