package sidecarset

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/test/golden"
)

// policied is a SidecarSet called s with the one sidecar a, whose resourcesPolicy is given.
func policied(policy string) string {
	return `{metadata: {name: s}, spec: {selector: {matchLabels: {app: x}},
  containers: [{name: a, image: "a:1", resourcesPolicy: ` + policy + `}]}}`
}

// twoApps have 200m and 400m of cpu, 100Mi and 1Gi of memory as limits, and half of the first two as requests.
const twoApps = `
metadata: {name: p, labels: {app: x}}
spec:
  containers:
  - {name: web, resources: {limits: {cpu: 200m, memory: 100Mi}, requests: {cpu: 100m, memory: 50Mi}}}
  - {name: db, resources: {limits: {cpu: 400m, memory: 1Gi}}}
`

func resourcesOf(pod any, list, name string) any {
	containers, _ := golden.At(pod, "spec", list).([]any)
	for _, c := range containers {
		if golden.At(c, "name") == name {
			return golden.At(c, "resources")
		}
	}
	return "no container " + name
}

func TestResourcesPolicyComputes(t *testing.T) {
	for name, test := range map[string]struct{ policy, want string }{
		"sum of the spec's example": {
			`{targetContainersMode: sum, resourcesExpr: {limits: {cpu: "max(cpu*50%, 50m)"}}}`, `{limits: {cpu: 300m}}`},
		"max of the spec's example": {
			`{targetContainersMode: max, resourcesExpr: {limits: {cpu: "max(cpu*50%, 50m)"}}}`, `{limits: {cpu: 200m}}`},
		"both lists and resources": { // db has no request: 100m+0 and 50Mi+0
			`{targetContainersMode: sum, resourcesExpr: {limits: {cpu: cpu, memory: memory}, requests: {cpu: cpu/2, memory: memory*2}}}`,
			`{limits: {cpu: 600m, memory: 1124Mi}, requests: {cpu: 50m, memory: 100Mi}}`},
		"largest request": {
			`{targetContainersMode: max, resourcesExpr: {requests: {memory: memory}}}`, `{requests: {memory: 50Mi}}`},
		"by name, unanchored": {
			`{targetContainersMode: sum, targetContainersNameRegex: "^w|x$", resourcesExpr: {limits: {cpu: cpu}}}`, `{limits: {cpu: 200m}}`},
		"constants": {
			`{targetContainersMode: sum, resourcesExpr: {limits: {cpu: 2, memory: 64Mi}}}`, `{limits: {cpu: "2", memory: 64Mi}}`},
		"no expression": {
			`{targetContainersMode: sum, resourcesExpr: {limits: {cpu: ""}}}`, `{}`},
	} {
		pod, _ := newBed(t, policied(strings.ReplaceAll(test.policy, "cpu: 2,", `cpu: "2",`))).inject(t, twoApps)
		golden.Equal(t, name, resourcesOf(pod, "containers", "a"), golden.YAML(t, []byte(test.want)))
	}
}

// A limit that one target lacks has no bound, whatever the expression says; a missing request is nothing.
func TestResourcesPolicyWithoutBounds(t *testing.T) {
	const policy = `{targetContainersMode: MODE, resourcesExpr: {limits: {cpu: 100m, memory: memory}, requests: {cpu: cpu, memory: memory}}}`
	const apps = `{metadata: {labels: {app: x}}, spec: {containers: [
  {name: web, resources: {limits: {memory: 1Mi}, requests: {cpu: "1"}}}, {name: db, resources: {limits: {cpu: 1, memory: 2Mi}}}]}}`
	for mode, memory := range map[string]string{"sum": "3Mi", "max": "2Mi"} {
		pod, _ := newBed(t, policied(strings.Replace(policy, "MODE", mode, 1))).inject(t, apps)
		want := fmt.Sprintf(`{limits: {memory: %s}, requests: {cpu: "1", memory: "0"}}`, memory)
		golden.Equal(t, mode, resourcesOf(pod, "containers", "a"), golden.YAML(t, []byte(want)))
	}
}

func TestResourcesPolicyChoosesTargets(t *testing.T) {
	const other = `{metadata: {name: other}, spec: {selector: {matchLabels: {app: x}}, containers: [{name: o, image: "o:1"},
  {name: hot, image: "h:1", upgradeStrategy: {upgradeType: HotUpgrade, hotUpgradeEmptyImage: "e:1"}}]}}`
	// Each amount is another power of ten, so that the sum says which ones are in it.
	const pod = `
metadata: {name: p, labels: {app: x}}
spec:
  initContainers:
  - {name: native, restartPolicy: Always, resources: {limits: {cpu: 1m}}}
  - {name: plain, resources: {limits: {cpu: 10m}}}
  containers:
  - {name: main, resources: {limits: {cpu: 100m}}}
  - {name: o, resources: {limits: {cpu: "1"}}}
  - {name: hot-1, resources: {limits: {cpu: "10"}}}
  - {name: hot, resources: {limits: {cpu: "100"}}}
  - {name: former, env: [{name: IS_INJECTED, value: "true"}], resources: {limits: {cpu: 1k}}}
`
	b := newBed(t, policied(`{targetContainersMode: sum, resourcesExpr: {limits: {cpu: cpu}}}`), other)
	patched, _ := b.inject(t, pod)
	golden.Equal(t, "native and main", resourcesOf(patched, "containers", "a"), golden.YAML(t, []byte(`{limits: {cpu: 101m}}`)))
}

// Claims are not computed; what the SidecarSet says of limits and requests besides is gone.
func TestResourcesPolicyOverwrites(t *testing.T) {
	set := strings.Replace(policied(`{targetContainersMode: sum, resourcesExpr: {limits: {cpu: cpu}}}`), "resourcesPolicy:",
		`resources: {claims: [{name: gpu}], limits: {memory: 1Gi}, requests: {cpu: 1m}}, resourcesPolicy:`, 1)
	pod, _ := newBed(t, set).inject(t, twoApps)
	golden.Equal(t, "resources", resourcesOf(pod, "containers", "a"), golden.YAML(t, []byte(`{claims: [{name: gpu}], limits: {cpu: 600m}}`)))
	c := golden.At(pod, "spec", "containers", 0).(object)
	if _, there := c["resourcesPolicy"]; there {
		t.Error("the Pod's container has a resourcesPolicy")
	}
}

func TestResourcesPolicyOfPairsAndInitContainers(t *testing.T) {
	const policy = `resourcesPolicy: {targetContainersMode: sum, resourcesExpr: {requests: {cpu: cpu}}}`
	const set = `{metadata: {name: s}, spec: {selector: {matchLabels: {app: x}},
  initContainers: [{name: nat, image: "n:1", restartPolicy: Always, ` + policy + `}],
  containers: [{name: h, image: "h:1", upgradeStrategy: {upgradeType: HotUpgrade, hotUpgradeEmptyImage: "e:1"}, ` + policy + `}]}}`
	pod, _ := newBed(t, set).inject(t, twoApps)
	want := golden.YAML(t, []byte(`{requests: {cpu: 100m}}`))
	golden.Equal(t, "h-1", resourcesOf(pod, "containers", "h-1"), want)
	golden.Equal(t, "h-2", resourcesOf(pod, "containers", "h-2"), want)
	golden.Equal(t, "nat", resourcesOf(pod, "initContainers", "nat"), want)
}

// Every refusal says which SidecarSet, which container, which field, and what to do.
func TestResourcesPolicyRefuses(t *testing.T) {
	for name, test := range map[string]struct{ policy, field, why, cure string }{
		"no target": {`{targetContainersMode: sum, targetContainersNameRegex: "^a$", resourcesExpr: {limits: {cpu: cpu}}}`,
			"targetContainersNameRegex", `"^a$" matches no container`, "remove it"},
		"mode":    {`{targetContainersMode: avg, resourcesExpr: {limits: {cpu: cpu}}}`, "targetContainersMode", `"avg"`, "sum or max"},
		"no mode": {`{resourcesExpr: {limits: {cpu: cpu}}}`, "targetContainersMode", `""`, "sum or max"},
		"regex": {`{targetContainersMode: sum, targetContainersNameRegex: "(", resourcesExpr: {limits: {cpu: cpu}}}`,
			"targetContainersNameRegex", "missing closing )", "correct it"},
		"syntax": {`{targetContainersMode: sum, resourcesExpr: {limits: {memory: "memory*"}}}`,
			"resourcesExpr.limits.memory", `"memory*"`, "correct the expression"},
		"negative": {`{targetContainersMode: sum, resourcesExpr: {requests: {cpu: "cpu-2"}}}`,
			"resourcesExpr.requests.cpu", "with cpu = 100m: the result is negative: -1.900", "correct the expression"},
		"other variable": {`{targetContainersMode: sum, resourcesExpr: {limits: {cpu: memory}}}`,
			"resourcesExpr.limits.cpu", `only "cpu" can be used`, "correct the expression"},
		"product": {`{targetContainersMode: sum, resourcesExpr: {limits: {cpu: "cpu*cpu"}}}`,
			"resourcesExpr.limits.cpu", "with cpu = 600m: two quantities cannot be multiplied", "correct the expression"},
		"request above limit": {`{targetContainersMode: sum, resourcesExpr: {limits: {cpu: cpu/6}, requests: {cpu: cpu*2}}}`,
			"resourcesExpr.requests.cpu", "gives 200m, more than the limit of 100m", "no larger than resourcesExpr.limits.cpu"},
		"no policy at all": {`[]`, "resourcesPolicy", "cannot be read", "correct it"},
	} {
		response := newBed(t, policiedWithHashes(test.policy)).admit(t, twoApps)
		if response.Allowed || response.Status.Code != 422 {
			t.Errorf("%s: the answer is %+v", name, response)
			continue
		}
		for _, want := range []string{"SidecarSet s: container a: resourcesPolicy", test.field, test.why, test.cure} {
			if !strings.Contains(response.Status.Message, want) {
				t.Errorf("%s: message %q lacks %q", name, response.Status.Message, want)
			}
		}
	}
}

// policiedWithHashes skips our defaulting, which knows the types.
func policiedWithHashes(policy string) string {
	return strings.Replace(policied(policy), "{name: s}",
		"{name: s, annotations: {kruise.io/sidecarset-hash: h, kruise.io/sidecarset-hash-without-image: w}}", 1)
}

func TestResourcesPolicyRefusesUnreadablePods(t *testing.T) {
	b := newBed(t, policied(`{targetContainersMode: sum, resourcesExpr: {limits: {cpu: cpu}}}`))
	response := b.admit(t, `{metadata: {labels: {app: x}}, spec: {containers: [{name: web, resources: {limits: {cpu: much}}}]}}`)
	if response.Allowed || response.Status.Code != 400 || !strings.Contains(response.Status.Message, "container web") {
		t.Errorf("the answer is %+v", response)
	}
}

// The second time around the sidecar is no target of its own, and keeps what it got, also when targets have more by then
// or are gone.
func TestResourcesPolicyAtReinvocation(t *testing.T) {
	b := newBed(t, policied(`{targetContainersMode: sum, resourcesExpr: {limits: {cpu: cpu}}}`))
	once, _ := b.inject(t, twoApps)
	if _, ops := b.inject(t, once); len(ops) > 0 {
		t.Errorf("the second injection does %v", ops)
	}
	web := golden.At(once, "spec", "containers", 1).(object)
	web["resources"] = golden.YAML(t, []byte(`{limits: {cpu: "7"}}`))
	if _, ops := b.inject(t, once); len(ops) > 0 {
		t.Errorf("with another limit of a target the second injection does %v", ops)
	}
	spec := golden.At(once, "spec").(object)
	spec["containers"] = spec["containers"].([]any)[:1]
	if _, ops := b.inject(t, once); len(ops) > 0 {
		t.Errorf("without a target the second injection does %v", ops)
	}
}

// A restored Pod of another version gets what its own containers have now, without the sidecars that it came with.
func TestResourcesPolicyOfRestoredPods(t *testing.T) {
	const policy = `{targetContainersMode: sum, resourcesExpr: {limits: {cpu: cpu*N}}}`
	b := newBed(t, policied(strings.Replace(policy, "N", "1", 1)))
	once, _ := b.inject(t, twoApps)
	b.index = newIndex(t, policied(strings.Replace(policy, "N", "2", 1)))
	again, _ := b.inject(t, once)
	golden.Equal(t, "twice 600m", resourcesOf(again, "containers", "a"), golden.YAML(t, []byte(`{limits: {cpu: 1200m}}`)))
}
