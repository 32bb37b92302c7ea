package conversion

// Kinds of which v1beta1 only has more, or other names.

// advancedCronJobDown, jobs.md §B3: v1alpha1 has no jobs that pull a list of images. An object that has one must not
// break a list of others.
func advancedCronJobDown(w *work) {
	remove(w.object(w.object(w.top, "spec"), "template"), "imageListPullJobTemplate")
}

// nodeImageDown, image-pull.md §2.1: only v1beta1 says how a Secret is used.
func nodeImageDown(w *work) {
	images := w.object(w.object(w.top, "spec"), "images")
	if images == nil {
		return
	}
	for _, m := range images.Members() {
		for _, secret := range w.objects(w.object(images, m.Name), "pullSecrets") {
			remove(secret, "mode")
		}
	}
}

// PersistentPodState, more-controllers.md §2.
func persistentPodStateUp(w *work)   { renameTopologyKeys(w, "nodeTopologyKeys", "keys") }
func persistentPodStateDown(w *work) { renameTopologyKeys(w, "keys", "nodeTopologyKeys") }

func renameTopologyKeys(w *work, from, to string) {
	spec := w.object(w.top, "spec")
	rename(w.object(spec, "requiredPersistentTopology"), from, to)
	for _, preferred := range w.objects(spec, "preferredPersistentTopology") {
		rename(w.object(preferred, "preference"), from, to)
	}
}

// ResourceDistribution, more-controllers.md §4.
func resourceDistributionUp(w *work) {
	renameDistribution(w, "namespaceLabelSelector", "namespaceSelector", "failedNamespace", "failedNamespaces")
}

func resourceDistributionDown(w *work) {
	renameDistribution(w, "namespaceSelector", "namespaceLabelSelector", "failedNamespaces", "failedNamespace")
}

func renameDistribution(w *work, selector, newSelector, failed, newFailed string) {
	rename(w.object(w.object(w.top, "spec"), "targets"), selector, newSelector)
	for _, condition := range w.objects(w.object(w.top, "status"), "conditions") {
		rename(condition, failed, newFailed)
	}
}
