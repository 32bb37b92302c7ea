package sidecarset

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/mutators/podview"
)

// sidecar is one container or init container of a SidecarSet.
type sidecar struct {
	name string
	list podview.List
	// before says that it goes before the Pod's own containers of its list.
	before        bool
	inSidecarList bool

	// instances are the containers that it becomes: one, or the two of a hot upgrade, the working one first.
	instances []instance
	hot       bool
	// image and emptyImage are what the two of a hot upgrade run (sidecarset.md §7).
	image, emptyImage string

	shareMounts, shareDevices bool
	transfers                 []transfer
	// envNames and paths are what it brings itself, against which added entries are checked.
	envNames, paths []string
	// volumes are the names in its own volumeMounts and volumeDevices.
	volumes []string

	// resources is nil for a sidecar that has its own.
	resources *resourcesPolicy
}

// instance is a container ready to be put into a Pod, except for what depends on that Pod.
type instance struct {
	template *podview.Container
	// versionEnv are the variables of a hot upgrade, which come after all others.
	versionEnv []variable
}

// listRules are the two differences between the lists of a SidecarSet.
type listRules struct {
	list   podview.List
	before bool // without a podInjectPolicy
}

var (
	initRules      = listRules{list: podview.InitContainers, before: false}
	containerRules = listRules{list: podview.Containers, before: true}
)

// sidecarOnly are the members of a SidecarContainer that a core/v1 Container does not have.
var sidecarOnly = []string{
	"podInjectPolicy", "upgradeStrategy", "shareVolumePolicy", "shareVolumeDevicePolicy", "transferEnv", "resourcesPolicy",
}

// sidecarDocument is what is read of a SidecarContainer; all else goes into the Pod unseen.
type sidecarDocument struct {
	Name          string `json:"name"`
	Image         string `json:"image"`
	RestartPolicy string `json:"restartPolicy"`
	Env           []struct {
		Name string `json:"name"`
	} `json:"env"`
	VolumeMounts []struct {
		Name      string `json:"name"`
		MountPath string `json:"mountPath"`
	} `json:"volumeMounts"`
	VolumeDevices []struct {
		Name       string `json:"name"`
		DevicePath string `json:"devicePath"`
	} `json:"volumeDevices"`
	PodInjectPolicy string `json:"podInjectPolicy"`
	UpgradeStrategy struct {
		UpgradeType          string `json:"upgradeType"`
		HotUpgradeEmptyImage string `json:"hotUpgradeEmptyImage"`
	} `json:"upgradeStrategy"`
	ShareVolumePolicy       sharePolicy        `json:"shareVolumePolicy"`
	ShareVolumeDevicePolicy sharePolicy        `json:"shareVolumeDevicePolicy"`
	TransferEnv             []transferDocument `json:"transferEnv"`
	ResourcesPolicy         jsontext.Value     `json:"resourcesPolicy"`
}

type sharePolicy struct {
	Type string `json:"type"`
}

func (p sharePolicy) enabled() bool { return p.Type == "enabled" }

func compileSidecars(list []jsontext.Value, rules listRules) ([]*sidecar, error) {
	sidecars := make([]*sidecar, 0, len(list))
	for i, raw := range list {
		var doc sidecarDocument
		if err := json.Unmarshal(raw, &doc, readOptions); err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
		s, err := compileSidecar(raw, &doc, rules)
		if err != nil {
			return nil, fmt.Errorf("container %q: %w", doc.Name, err)
		}
		sidecars = append(sidecars, s)
	}
	return sidecars, nil
}

func compileSidecar(raw jsontext.Value, doc *sidecarDocument, rules listRules) (*sidecar, error) {
	s := &sidecar{
		name:          doc.Name,
		list:          rules.list,
		inSidecarList: rules.list == podview.Containers || doc.RestartPolicy == "Always",
		shareMounts:   doc.ShareVolumePolicy.enabled(),
		shareDevices:  doc.ShareVolumeDevicePolicy.enabled(),
		transfers:     compileTransfers(doc.TransferEnv),
		resources:     compileResources(doc.ResourcesPolicy),
	}
	if s.name == "" {
		return nil, errors.New("name is missing")
	}
	switch doc.PodInjectPolicy {
	case "":
		s.before = rules.before
	case "BeforeAppContainer":
		s.before = true
	case "AfterAppContainer":
	default:
		return nil, fmt.Errorf("podInjectPolicy is %q, must be BeforeAppContainer or AfterAppContainer", doc.PodInjectPolicy)
	}
	s.collect(doc)
	return s, s.compileInstances(raw, doc)
}

// collect remembers what the container brings itself.
func (s *sidecar) collect(doc *sidecarDocument) {
	for _, env := range doc.Env {
		s.envNames = append(s.envNames, env.Name)
	}
	for _, mount := range doc.VolumeMounts {
		s.paths = append(s.paths, mount.MountPath)
		s.volumes = append(s.volumes, mount.Name)
	}
	for _, device := range doc.VolumeDevices {
		s.paths = append(s.paths, device.DevicePath)
		s.volumes = append(s.volumes, device.Name)
	}
}

// compileInstances makes the fragments. Only an init container that runs beside the others can be upgraded at all, so
// for another one HotUpgrade means nothing (sidecarset.md §4.7).
func (s *sidecar) compileInstances(raw jsontext.Value, doc *sidecarDocument) error {
	marked, err := markInjected(raw, s)
	if err != nil {
		return err
	}
	if doc.UpgradeStrategy.UpgradeType == "HotUpgrade" && s.inSidecarList {
		return s.compilePair(marked, doc)
	}
	template, err := podview.NewContainer(marked)
	s.instances = []instance{{template: template}}
	return err
}

// markInjected is the container as a Pod can have it, with the variable by which everyone knows a sidecar.
func markInjected(raw jsontext.Value, s *sidecar) (jsontext.Value, error) {
	container, err := editObject(raw, sidecarOnly)
	if err != nil {
		return nil, err
	}
	c, err := podview.NewContainer(container)
	if err != nil {
		return nil, err
	}
	addEnv(c, &s.envNames, envVar(v1beta1.SidecarInjectedEnv, "true"))
	marked := c.JSON()
	return marked, marked.Compact(readOptions)
}
