//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/fairlead-io/fairlead/test/cluster/images"
	"github.com/fairlead-io/fairlead/test/installation"
)

// article is a manifest of the articles, without the namespace that it may have.
func (w cloneSets) article(file string) string {
	w.Helper()
	root, err := installation.Root(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "test", "articles", "testdata", file+".yaml"))
	if err != nil {
		w.Fatal(err)
	}
	return strings.Replace(string(text), "  namespace: demo\n", "", 1)
}

// pushAs puts an image of ours into the registry under the names that articles use.
func (w cloneSets) pushAs(references ...string) {
	w.Helper()
	ours, err := name.ParseReference(w.Registry()+"/"+images.Repository("bank.test", "web")+":v1", name.Insecure)
	if err != nil {
		w.Fatal(err)
	}
	img, err := remote.Image(ours, remote.WithContext(w.Context()))
	if err != nil {
		w.Fatal(err)
	}
	if err := w.PushImage(w.Context(), img, references...); err != nil {
		w.Fatal(err)
	}
}

// articlesRun every manifest of the articles, one after the other since they share names and labels.
func articlesRun(w cloneSets) {
	w.pushAs("docker.io/library/nginx:latest", "docker.io/library/nginx:alpine", "docker.io/openkruise/hotupgrade-sample:busybox")
	w.volumes("", 3)
	for _, a := range []struct {
		file, name string
		replicas   int32
	}{
		{"cloneset-hot-upgrade", "busybox", 1},
		{"cloneset-volume-claim-templates", "sample-data", 3},
		{"cloneset-image-predownload", "cs-predownload", 1},
		{"cloneset-lifecycle-written-twice", "cs-lifecycle", 1},
		{"cloneset-lifecycle-not-ready", "cs-lifecycle", 1},
		{"cloneset-lifecycle-finalizer-in-template", "cs-lifecycle", 1},
		{"corrected/cloneset-lifecycle-by-label", "cs-lifecycle", 1},
		{"corrected/cloneset-lifecycle-by-finalizer", "cs-lifecycle", 1},
		{"corrected/cloneset-lifecycle-containers-in-spec", "cloneset-lifecycle-demo", 2},
	} {
		w.apply(w.article(a.file))
		w.settled(a.name, inFull(a.replicas))
		w.remove(a.name)
	}
	w.streams()
}

// remove deletes the CloneSet, and lets its Pods go.
func (w cloneSets) remove(set string) {
	w.Helper()
	w.kubectl("delete", "clone", set)
	w.until(func() string {
		w.dropFinalizers()
		if n := len(w.pods()); n > 0 {
			return fmt.Sprintf("%d Pods of %s are left", n, set)
		}
		return ""
	})
}

// streams: the article's CloneSet makes one Pod after another, each when the one before has been ready for a time, which is
// shorter here. Then it loses the Pod that its user names, and one replica with it.
func (w cloneSets) streams() {
	w.Helper()
	const ready = 4 * time.Second
	quick := strings.NewReplacer("minReadySeconds: 60", "minReadySeconds: 4")
	w.apply(quick.Replace(w.article("cloneset-scale-up-step")))
	w.settled("cs-demo", inFull(5))
	pods := w.pods()
	for i := range pods {
		for j := range pods {
			apart := pods[i].CreationTimestamp.Sub(pods[j].CreationTimestamp.Time).Abs()
			if i != j && apart < ready {
				w.Errorf("Pods %s and %s were created %s apart, want %s at least", pods[i].Name, pods[j].Name, apart, ready)
			}
		}
	}
	named := pods[2].Name
	w.apply(strings.Replace(quick.Replace(w.article("cloneset-pods-to-delete")), "cs-demo-n72fr", named, 1))
	w.until(w.gone(named))
	w.settled("cs-demo", inFull(4))
	if created := w.events("SuccessfulCreate"); created == 0 {
		w.Error("no event tells of a created Pod")
	}
	w.remove("cs-demo")
}
