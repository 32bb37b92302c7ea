package disruption

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

const objects = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: apps.kruise.io/v1beta1
kind: SidecarSet
metadata: {name: agents}
spec:
  selector: {matchLabels: {app: web}}
  containers: [{name: agent, image: "bank.test/tool:v1"}]
`

// TestNoReviewFailsOnADrain sends 300 reviews a second, half of them over HTTP/2, while two replicas are replaced in turn.
func TestNoReviewFailsOnADrain(t *testing.T) {
	aside(t)
	s := newService(t)
	dir := writeObjects(t)
	begin := func(name string) *replica {
		r := start(t, name, nil, nil, "--standalone", "--objects="+dir)
		s.add(r)
		until(t, name+" serves", func() bool { return s.has(r) })
		return r
	}
	first, second := begin("first"), begin("second")
	over1, over2 := startBoth(t, s)
	for range drains {
		fresh := begin("another")
		first.terminate(t)
		first, second = second, fresh
	}
	over1.end(t)
	over2.end(t)
}

func writeObjects(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "objects.yaml"), []byte(objects), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// startBoth sends 300 reviews a second, half of them over each protocol.
func startBoth(t *testing.T, s *service) (over1, over2 *reviews) {
	t.Helper()
	const each = time.Second / 150
	return startReviews(t, s.address, each, http1()), startReviews(t, s.address, each, http2())
}
