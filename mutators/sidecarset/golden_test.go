package sidecarset

import (
	"testing"

	"github.com/fairlead-io/fairlead/test/golden"
)

func TestGoldenCases(t *testing.T) {
	covered := golden.Run(t, "testdata/cases", "/mutate-pod", newHandler(Options{}))
	covered = append(covered, golden.Run(t, "testdata/cases-sorted", "/mutate-pod", newHandler(Options{SortByName: true}))...)
	golden.CheckRules(t, "testdata/rules", covered)
}
