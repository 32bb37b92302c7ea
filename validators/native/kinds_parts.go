package native

import (
	"fmt"
	"strings"
)

// target is that spec.targetRef stays, in whatever version.
func target(rule, kind string) problem {
	group := func(of string) string {
		version := path(of, "spec.targetRef.apiVersion") + `.orValue("")`
		return fmt.Sprintf(`(%s.contains("/") ? %s.split("/")[0] : "")`, version, version)
	}
	return when(rule, strings.Join([]string{
		differs("spec.targetRef.kind", `""`), differs("spec.targetRef.name", `""`), group("object") + " != " + group("oldObject"),
	}, " || "), quoted("spec.targetRef: Forbidden: cannot be changed: delete this "+kind+" and create another"))
}

// jobs is that the template of jobs stays, where stays is true. What a client may leave out or the service fills in cannot be
// told from a change here, so of a template only the kind, and the images of its containers, are looked at.
func jobs(stays string) problem {
	kinds := []string{"spec.template.broadcastJobTemplate", "spec.template.jobTemplate"}
	changes := make([]string, 0, 2*len(kinds))
	for _, kind := range kinds {
		changes = append(changes,
			path("object", kind)+".hasValue() != "+path("oldObject", kind)+".hasValue()",
			images("object", kind)+" != "+images("oldObject", kind))
	}
	return when("advancedcronjob-template-immutable", stays+" && ("+strings.Join(changes, " || ")+")",
		quoted("spec.template: Forbidden: cannot be changed: create another AdvancedCronJob"))
}

func images(of, kind string) string {
	return path(of, kind+".spec.template.spec.containers") + `.orValue([]).map(c, c.?image.orValue(""))`
}

// text is a label or an annotation, "" if it is absent.
func text(of, in, key string) string {
	return fmt.Sprintf(`%s[?%s].orValue("")`, metadata(of, in), quoted(key))
}

// stays is what is said of a text to put back: CEL for it.
func stays(before string) string { return `"is immutable: put back " + strings.quote(` + before + `)` }

// label is that a label of a ContainerRecreateRequest stays.
func label(key string) problem {
	before := text("oldObject", "labels", key)
	return when("containerrecreaterequest-labels-immutable", text("object", "labels", key)+" != "+before,
		quoted("metadata.labels["+key+"]: Forbidden: ")+" + "+stays(before))
}

// unready is that the time of a Pod's unreadiness stays.
var unready = func() problem {
	const key = "crr.apps.kruise.io/unready-acquired"
	before := text("oldObject", "annotations", key)
	return when("containerrecreaterequest-unready-immutable",
		before+` != "" && `+text("object", "annotations", key)+" != "+before,
		quoted("metadata.annotations["+key+"]: Forbidden: ")+" + "+stays(before))
}()

// request is that a ContainerRecreateRequest stays. What the creation filled in, and an update may leave out, is not looked at
// unless the update gives it.
var request = func() problem {
	names := func(of string) string {
		return path(of, "spec.containers") + `.orValue([]).map(c, c.?name.orValue(""))`
	}
	settings := map[string]string{
		"activeDeadlineSeconds": "", "ttlSecondsAfterFinished": "", "strategy.failurePolicy": `""`, "strategy.forceRecreate": "false",
		"strategy.minStartedSeconds": "0", "strategy.orderedRecreate": "false", "strategy.terminationGracePeriodSeconds": "",
		"strategy.unreadyGracePeriodSeconds": "",
	}
	changes := make([]string, 0, 2+len(settings))
	changes = append(changes, differs("spec.podName", `""`), names("object")+" != "+names("oldObject"))
	for field, nothing := range settings {
		change := given("spec." + field)
		if nothing != "" {
			change += " && object.spec." + field + " != " + nothing
		}
		changes = append(changes, change)
	}
	return when("containerrecreaterequest-spec-immutable", strings.Join(sorted(changes), " || "),
		quoted("spec: Forbidden: is immutable: delete this request and create another"))
}()

// base is that the base of a canary stays.
var base = func() problem {
	const key = "apps.kruise.io/sidecarset-base"
	before, now := text("oldObject", "annotations", key), text("object", "annotations", key)
	return when("sidecarset-canary-base-immutable",
		text("oldObject", "annotations", "apps.kruise.io/sidecarset-canary")+` == "true" && `+before+` != "" && `+now+" != "+before,
		quoted("metadata.annotations["+key+"]: Invalid value: ")+" + strings.quote("+now+`) + ": " + `+stays(before)+
			` + ", or delete this SidecarSet and create it anew"`)
}()

// upgradeType is that containers of a SidecarSet keep their names and the types of their upgrades.
var upgradeType = func() problem {
	const now, before = `c.?upgradeStrategy.?upgradeType.orValue("ColdUpgrade")`, `o.?upgradeStrategy.?upgradeType.orValue("")`
	here, there := path("object", "spec.containers")+".orValue([])", path("oldObject", "spec.containers")+".orValue([])"
	at := `"spec.containers[" + string(` + here + `.map(n, n.name).indexOf(c.name)) + "]`
	added := fmt.Sprintf(`%s.filter(c, !%s.exists(o, o.name == c.name)).map(c, %s.name: Forbidden: container " + strings.quote(c.name) + `+
		`" cannot be added or renamed by an update: use another SidecarSet for it")`, here, there, at)
	typed := fmt.Sprintf(`%s.filter(c, %s.exists(o, o.name == c.name && %s != "" && %s != %s)).map(c, `+
		`%s.upgradeStrategy.upgradeType: Invalid value: " + strings.quote(%s) + ": " + %s)`,
		here, there, before, before, now, at, now,
		stays(there+`.filter(o, o.name == c.name).map(o, `+before+`)[0]`))
	return problem{"sidecarset-upgrade-type-immutable", "(" + added + " +\n" + typed + ")"}
}()
