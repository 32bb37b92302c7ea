package main

import (
	"os/exec"
	"testing"
)

func TestExportsAreWhatAShellReads(t *testing.T) {
	script := exports([]string{"A=it's a $HOME `x` \"y\"", "B=c=d"}) + `printf '%s|%s' "$A" "$B"`
	out, err := exec.Command("/bin/sh", "-c", script).Output()
	if want := "it's a $HOME `x` \"y\"|c=d"; err != nil || string(out) != want {
		t.Errorf("the shell has %q (%v), want %q", out, err, want)
	}
}
