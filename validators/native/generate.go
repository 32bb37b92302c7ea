package native

//go:generate go run ./internal/chartfiles ../../charts/kruise/files/native
