package server

import (
	"net/url"
	"time"
)

const (
	// defaultTimeout is the API's default for webhooks without timeoutSeconds; maxTimeout is its maximum.
	defaultTimeout = 10 * time.Second
	maxTimeout     = 30 * time.Second
	// The answer must be on its way before the API server gives up: a twentieth of the time, at most maxMargin.
	marginPart = 20
	maxMargin  = 500 * time.Millisecond
)

// timeLeft is the time for a handler, from the `timeout` parameter that the API server adds to the URL. Anything that
// is no sensible duration counts as the default.
func timeLeft(rawQuery string) time.Duration {
	timeout := defaultTimeout
	if query, err := url.ParseQuery(rawQuery); err == nil {
		if asked, err := time.ParseDuration(query.Get("timeout")); err == nil && asked > 0 {
			timeout = min(asked, maxTimeout)
		}
	}
	return timeout - min(timeout/marginPart, maxMargin)
}
