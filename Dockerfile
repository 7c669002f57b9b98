# docker build -t fairpriv . && docker run --rm -p 127.0.0.1:8501:8501 -v fairpriv:/data fairpriv
FROM python:3.11-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends chromium fonts-liberation \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /fairpriv
COPY . .
RUN ./fairpriv setup && mkdir /data
ENV XDG_CACHE_HOME=/data FAIRPRIV_STORE=/data/runs.db
EXPOSE 8501
CMD ["./fairpriv", "app", "--server.address", "0.0.0.0"]
