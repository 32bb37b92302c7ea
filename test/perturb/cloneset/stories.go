package cloneset

import (
	"slices"

	"github.com/fairlead-io/fairlead/controllers/cloneset"
	"github.com/fairlead-io/fairlead/test/perturb"
)

// story is a scenario in an installation.
type story struct {
	perturb.Scenario
	settings cloneset.Settings
}

func (s story) workload() *perturb.Workload { return newWorkload(mistake{settings: s.settings}) }

// scenarios are the stories whose every write is perturbed by every fault.
var scenarios = []perturb.Scenario{
	{Name: "scale out", Given: "replicas=2 max-unavailable=1", Stages: "replicas=5"},
	{Name: "scale out step by step", Given: "replicas=1 scale-unavailable=1", Stages: "replicas=3"},
	{Name: "update in place", Given: "replicas=3 max-unavailable=1 policy=InPlaceIfPossible", Stages: "image=2 partition=2; partition=0"},
	{Name: "update in place with surge", Given: "replicas=3 max-unavailable=0 max-surge=1 policy=InPlaceIfPossible", Stages: "image=2 side=2"},
	{Name: "recreate", Given: "replicas=3 max-unavailable=1", Stages: "env=2 partition=2; partition=0"},
	{Name: "recreate with surge", Given: "replicas=3 max-unavailable=0 max-surge=1", Stages: "image=2"},
	{Name: "scale in", Given: "replicas=5", Stages: "replicas=2"},
	{Name: "delete the Pods that are named", Given: "replicas=4 max-unavailable=1 claims=true", Stages: "delete-pod=0 name-pod=2; replicas=3"},
	{Name: "roll back", Given: "replicas=3 max-unavailable=1 policy=InPlaceIfPossible; image=2 partition=1", Stages: "image=1 partition=0"},
}

// further are stories of single features, of which continuous integration tries every fifth point.
var further = []story{
	{Scenario: perturb.Scenario{Name: "hooks before deletion", Given: "pre-delete=labels replicas=4 max-unavailable=1", Stages: "replicas=2"}},
	{Scenario: perturb.Scenario{Name: "hooks before deletion, kept after all", Given: "pre-delete=finalizers replicas=4 max-unavailable=1", Stages: "delete-pod=0 name-pod=1; replicas=2"}},
	{Scenario: perturb.Scenario{Name: "hooks before an update", Given: "hook-update=labels policy=InPlaceIfPossible replicas=3 max-unavailable=1", Stages: "image=2"}},
	{Scenario: perturb.Scenario{Name: "unready before an update", Given: "hook-update=unready pre-delete=unready policy=InPlaceIfPossible replicas=3 max-unavailable=1", Stages: "image=2; replicas=2"}},
	{Scenario: perturb.Scenario{Name: "hooks that recreate", Given: "pre-delete=finalizers replicas=3 max-unavailable=0 max-surge=1", Stages: "image=2"}},
	{Scenario: perturb.Scenario{Name: "hooks before service", Given: "pre-normal=true replicas=1", Stages: "replicas=3; image=2"}},
	{Scenario: perturb.Scenario{Name: "grace period", Given: "grace=5 policy=InPlaceIfPossible replicas=3 max-unavailable=2", Stages: "image=2; image=3 side=2"}},
	{Scenario: perturb.Scenario{Name: "images are fetched before", Given: "replicas=5 policy=InPlaceIfPossible max-unavailable=2", Stages: "image=2 partition=3; partition=0"}, settings: cloneset.Settings{PreDownload: true}},
	{Scenario: perturb.Scenario{Name: "claims are reused", Given: "claims=true reuse-claims=true replicas=3", Stages: "kill-pod=1; fail-pod=0; image=2; replicas=2"}},
	{Scenario: perturb.Scenario{Name: "claims are not reused", Given: "claims=true replicas=3", Stages: "kill-pod=1; fail-pod=0; image=2; replicas=2"}},
	{Scenario: perturb.Scenario{Name: "canaries first", Given: "replicas=4 policy=InPlaceIfPossible max-unavailable=1; label-pod=2 label-pod=1 first=pod-1", Stages: "image=2 partition=2; partition=0"}},
	{Scenario: perturb.Scenario{Name: "in order and scattered", Given: "replicas=5 policy=InPlaceIfPossible max-unavailable=2; label-pod=2 label-pod=1 order=" + canary + " scatter=pod-1", Stages: "image=2 partition=3; partition=0"}},
	{Scenario: perturb.Scenario{Name: "on deletion", Given: "update-type=OnDelete replicas=3", Stages: "image=2; kill-pod=0; delete-pod=0; replicas=4", AnyEnd: true}},
	{Scenario: perturb.Scenario{Name: "only in place", Given: "policy=InPlaceOnly replicas=3 max-unavailable=1", Stages: "image=2 side=2; image=1"}},
	{Scenario: perturb.Scenario{Name: "the same image by another tag", Given: "policy=InPlaceIfPossible replicas=2 max-unavailable=1", Stages: "image=1-again; image=2"}},
	{Scenario: perturb.Scenario{Name: "a broken image is taken back in place", Given: "policy=InPlaceIfPossible replicas=3 max-unavailable=1", Stages: "image=broken; image=1"}},
	{Scenario: perturb.Scenario{Name: "a broken image is taken back", Given: "replicas=3 max-unavailable=1", Stages: "image=broken; image=1"}},
	{Scenario: perturb.Scenario{Name: "paused", Given: "replicas=3 max-unavailable=1 max-surge=1", Stages: "paused=true image=2; replicas=4; paused=false"}},
	{Scenario: perturb.Scenario{Name: "spread", Given: "spread=" + perturb.Zone + " replicas=5", Stages: "replicas=2"}},
	{Scenario: perturb.Scenario{Name: "time to become available", Given: "min-ready=10 scale-unavailable=1 replicas=1 progress-deadline=30", Stages: "replicas=3; image=2"}},
	{Scenario: perturb.Scenario{Name: "no history", Given: "history=0 replicas=2 policy=InPlaceIfPossible max-unavailable=1", Stages: "image=2; image=3; image=1"}},
	{Scenario: perturb.Scenario{Name: "the partition is raised", Given: "policy=InPlaceIfPossible replicas=4 max-unavailable=1; image=2 partition=1", Stages: "partition=3; partition=0"}, settings: cloneset.Settings{PartitionRollback: true}},
	{Scenario: perturb.Scenario{Name: "replaced before they are gone", Given: "exclude-preparing=true pre-delete=labels replicas=3 max-unavailable=1", Stages: "delete-pod=1; image=2"}},
}

func all() []story {
	var stories []story
	for _, s := range scenarios {
		stories = append(stories, story{Scenario: s})
	}
	return append(stories, further...)
}

// edited are P15: the user changes their mind in the middle.
func edited() []perturb.Fault {
	changes := map[string][]string{
		"back": {"image=1", "env=0"}, "onward": {"image=7"}, "onward-env": {"env=7"}, "paused": {"paused=true"},
		"partition-up": {"partition=100%"}, "partition-down": {"partition=0"}, "scale-out": {"replicas=6"}, "scale-in": {"replicas=1"},
		"in-place": {"policy=InPlaceIfPossible"}, "recreate": {"policy=ReCreate"}, "on-delete": {"update-type=OnDelete"},
		"hooks": {"pre-delete=labels", "hook-update=labels"},
	}
	faults := make([]perturb.Fault, 0, len(changes))
	for id, edits := range changes {
		faults = append(faults, perturb.Edited("P15."+id, true, edits...))
	}
	faults = append(faults, perturb.Edited("P15.claims", false, "claims=true", "reuse-claims=true"))
	for _, policy := range []string{"Background", "Foreground", "Orphan"} {
		faults = append(faults, perturb.Edited("P15.delete-"+policy, false, "delete="+policy))
	}
	return sorted(faults)
}

// extremes are P20: fields at what is the least or most that admission lets pass, put back later.
func extremes() []perturb.Fault {
	changes := map[string][]string{
		"no-replicas": {"replicas=0"}, "replicas": {"replicas=15"}, "partition": {"partition=2147483647"}, "percentage": {"partition=99%"},
		"unavailable": {"max-unavailable=100%"}, "unavailable-number": {"max-unavailable=2147483647"}, "surge": {"max-surge=100%", "max-unavailable=0"},
		"surge-number": {"max-surge=2147483647"}, "min-ready": {"min-ready=2147483647"}, "min-ready-negative": {"min-ready=-1"},
		"history": {"history=0"}, "history-negative": {"history=-1"}, "history-all": {"history=2147483647"}, "grace": {"grace=2147483647"},
		"deadline": {"progress-deadline=0"}, "deadline-long": {"progress-deadline=2147483646"}, "scale-unavailable": {"scale-unavailable=100%"},
		"broken": {"image=broken"}, "names": {"name-nobody=0", "name-pod=0"},
	}
	faults := make([]perturb.Fault, 0, len(changes))
	for id, edits := range changes {
		faults = append(faults, perturb.Edited("P20."+id, true, edits...))
	}
	return sorted(faults)
}

func sorted(faults []perturb.Fault) []perturb.Fault {
	slices.SortFunc(faults, func(a, b perturb.Fault) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return faults
}
