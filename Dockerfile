# docker build -t fairpriv . && docker run --rm --init -p 127.0.0.1:8501:8501 -v fairpriv:/data fairpriv
# docs/deploy.md says what a server for several people takes.
FROM python:3.11-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends chromium fonts-liberation \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 fairpriv \
    && install -d -o fairpriv -g fairpriv -m 0700 /data /fairpriv
USER fairpriv
WORKDIR /fairpriv
COPY --chown=fairpriv . .
RUN ./fairpriv setup \
    && .venv/bin/python -m pip install --no-cache-dir -c constraints.txt -e ".[postgres,sign-in]"
ENV XDG_CACHE_HOME=/data FAIRPRIV_STORE=/data/runs.db PYTHONUNBUFFERED=1
VOLUME /data
EXPOSE 8501
HEALTHCHECK --interval=30s --start-period=30s CMD .venv/bin/python -c "import os, urllib.request as web; \
    web.urlopen('/'.join(filter(None, ('http://localhost:8501', os.environ.get('STREAMLIT_SERVER_BASE_URL_PATH'), '_stcore/health'))))"
CMD ["./fairpriv", "app", "--server.address", "0.0.0.0"]
