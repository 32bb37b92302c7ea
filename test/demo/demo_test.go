package main

import "testing"

func TestContainersAreToldInTheOrderOfTheirStart(t *testing.T) {
	const want = "  database started at 2026-01-02T03:04:05Z\n  client started at 2026-01-02T03:04:09Z\n"
	if got := inOrder("2026-01-02T03:04:09Z client\n2026-01-02T03:04:05Z database\n"); got != want {
		t.Errorf("told as\n%s", got)
	}
}
