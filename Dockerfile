# The product's image: one static program. Build the program first: make build && docker build -t REGISTRY/fairlead:TAG .
FROM scratch
COPY bin/fairlead /fairlead
USER 65534:65534
ENTRYPOINT ["/fairlead"]
