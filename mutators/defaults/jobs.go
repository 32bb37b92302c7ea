package defaults

import (
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/internal/jsontree"
)

// unlimited is the parallelism of a BroadcastJob that names none: every node at once.
const unlimited = 1<<31 - 1

// broadcastJob has the defaults of jobs.md §A1.
var broadcastJob = kind{
	alpha: broadcastRules, beta: broadcastRules,
	templates: []place{{path: []string{"spec"}, ends: true, pulls: true}},
}

var broadcastRules = []rule{
	unset("parallelism", unlimited),
	ensure("completionPolicy", empty("type", "Always")),
	ensure("failurePolicy", empty("type", "FailFast")),
}

// advancedCronJob has the defaults of jobs.md §B1. The BroadcastJobs that it makes get theirs when they are made; the
// restartPolicy of a Job is for its author to say, as in Kubernetes.
var advancedCronJob = kind{
	alpha: cronRules, beta: cronRules,
	templates: []place{
		{path: []string{"spec", "template", "broadcastJobTemplate", "spec"}, ends: true, pulls: true},
		{path: []string{"spec", "template", "jobTemplate", "spec"}, pulls: true},
	},
}

var cronRules = []rule{
	when(pullsLists, empty("concurrencyPolicy", "Replace")),
	empty("concurrencyPolicy", "Allow"),
	unset("paused", false), unset("successfulJobsHistoryLimit", 3), unset("failedJobsHistoryLimit", 1),
	in("template", in("imageListPullJobTemplate", in("spec",
		pulling, empty("imagePullPolicy", "IfNotPresent"), ensure("completionPolicy", empty("type", "Always")),
	))),
}

func pullsLists(spec *jsontree.Node) bool {
	template := spec.Object("template")
	return template != nil && template.Get("imageListPullJobTemplate") != nil
}

// pulling are the defaults of every attempt to pull an image: ten minutes for each, and three more.
var pulling = ensure("pullPolicy", unset("timeoutSeconds", 600), unset("backoffLimit", 3))

// imagePullJob has the defaults of image-pull.md §3.1.
var imagePullJob = kind{alpha: pullRules, beta: pullRules}

var pullRules = []rule{
	pulling, unset("parallelism", 1), empty("imagePullPolicy", "IfNotPresent"), ensure("completionPolicy", empty("type", "Always")),
}

// imageListPullJob has the defaults of image-pull.md §5; the ImagePullJobs that it makes get the others.
var imageListPullJob = kind{alpha: listRules, beta: listRules}

var listRules = []rule{pulling, ensure("completionPolicy", empty("type", "Always"))}

// nodeImage has the defaults of image-pull.md §2.1.
func (d *Defaulter) nodeImage() kind {
	rules := []rule{in("images", func(images *jsontree.Node) {
		for _, image := range images.Members() {
			if !image.Value.IsObject() {
				continue
			}
			sortTags(image.Value)
			each("tags", derived("createdAt", func(*jsontree.Node) string { return d.Now().UTC().Format(time.RFC3339) }), pulling)(image.Value)
		}
	})}
	return kind{alpha: rules, beta: rules, kept: keepAges}
}

// keepAges gives tags that were there before the age that they had: a manifest that is applied again says nothing of it.
func keepAges(top, old *jsontree.Node) {
	ages := make(map[[2]string]jsontext.Value)
	eachTag(old, func(image string, tag *jsontree.Node) {
		if created := tag.Get("createdAt"); created != nil {
			ages[[2]string{image, tagOf(tag)}] = created.Bytes()
		}
	})
	eachTag(top, func(image string, tag *jsontree.Node) {
		if age := ages[[2]string{image, tagOf(tag)}]; age != nil && tag.Get("createdAt") == nil {
			tag.Set("createdAt", age)
		}
	})
}

func eachTag(top *jsontree.Node, visit func(image string, tag *jsontree.Node)) {
	in("spec", in("images", func(images *jsontree.Node) {
		for _, image := range images.Members() {
			if image.Value.IsObject() {
				each("tags", func(tag *jsontree.Node) { visit(image.Name, tag) })(image.Value)
			}
		}
	}))(top)
}

// sortTags brings the tags of an image into the order that everyone who compares them relies on.
func sortTags(image *jsontree.Node) {
	list := image.Get("tags")
	byTag := func(a, b *jsontree.Node) int { return strings.Compare(tagOf(a), tagOf(b)) }
	if !list.IsArray() || slices.IsSortedFunc(list.Elements(), byTag) {
		return
	}
	tags := slices.Clone(list.Elements())
	slices.SortStableFunc(tags, byTag)
	sorted := jsontext.Value("[")
	for i, tag := range tags {
		if i > 0 {
			sorted = append(sorted, ',')
		}
		sorted = tag.AppendTo(sorted)
	}
	image.Put(jsontree.Replace, "tags", append(sorted, ']'))
}

func tagOf(tag *jsontree.Node) string {
	if !tag.IsObject() {
		return ""
	}
	return tag.TextOf("tag")
}
