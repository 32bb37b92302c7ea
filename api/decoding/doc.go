// Package decoding reads JSON into the Go types of the API. Its errors are for who wrote the JSON: they say where a value
// does not fit, and what to write there instead.
package decoding
