// Package articles applies manifests that users find in articles about OpenKruise to a real API server with our definitions and
// our admission, and compares what becomes of them with testdata/verdicts.yaml, which docs/compatibility.md shows to users.
package articles
