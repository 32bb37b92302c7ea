package sidecarset

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// keyed names the lists of a container that other admission adds to, and the member that tells their entries apart: the
// API server adds the token's mount to every container, and other webhooks variables and mounts of theirs.
var keyed = map[string]string{"env": "name", "volumeMounts": "mountPath", "volumeDevices": "devicePath"}

// renew makes a sidecar that the Pod brings along, of the version that it is to have, say what the SidecarSet says. What
// others added to it stays (the API server adds to what we inject before it asks us a second time, and does not do so
// again), and so do the members in theirs. It returns present itself if there is nothing to do.
func renew(present, desired jsontext.Value, theirs ...string) (jsontext.Value, error) {
	is, err := readMembers(present)
	if err != nil {
		return nil, err
	}
	should, err := readMembers(desired)
	if err != nil {
		return nil, err
	}
	changed := false
	for _, d := range should {
		i := slices.IndexFunc(is, func(m member) bool { return m.name == d.name })
		switch {
		case slices.Contains(theirs, d.name):
		case i < 0 && !empty(d.value):
			is = append(is, d)
			changed = true
		case i >= 0:
			value, err := renewMember(d.name, is[i].value, d.value)
			if err != nil {
				return nil, err
			}
			changed = changed || value != nil
			if value != nil {
				is[i].value = value
			}
		}
	}
	if !changed {
		return present, nil
	}
	return object(is), nil
}

// renewMember is a member's new value, nil if it is to stay.
func renewMember(name string, present, desired jsontext.Value) (jsontext.Value, error) {
	if key, ok := keyed[name]; ok {
		return renewList(key, present, desired)
	}
	covers, err := covers(name, present, desired)
	if covers || err != nil {
		return nil, err
	}
	return desired, nil
}

// renewList is a keyed list with the desired entries first, where they are not as they should be, and all others behind
// them; nil if it is to stay.
func renewList(key string, present, desired jsontext.Value) (jsontext.Value, error) {
	is, err := readElements(present)
	if err != nil {
		return nil, err
	}
	should, err := readElements(desired)
	if err != nil {
		return nil, err
	}
	changed := false
	for _, d := range should {
		name, err := stringMember(d, key)
		if err != nil {
			return nil, err
		}
		i, err := find(is, key, name)
		if err != nil {
			return nil, err
		}
		if i < 0 {
			is, changed = append(is, d), true
			continue
		}
		same, err := sameEntry(is[i], d)
		if err != nil {
			return nil, err
		}
		if !same {
			is[i], changed = d, true
		}
	}
	if !changed {
		return nil, nil
	}
	return array(is), nil
}

func find(list []jsontext.Value, key, name string) (int, error) {
	for i, entry := range list {
		found, err := stringMember(entry, key)
		if err != nil {
			return 0, err
		}
		if found == name {
			return i, nil
		}
	}
	return -1, nil
}

// sameEntry tells whether an entry covers another; a variable that got a valueFrom has another value, too.
func sameEntry(present, desired jsontext.Value) (bool, error) {
	is, err := readMembers(present)
	if err != nil {
		return false, err
	}
	should, err := readMembers(desired)
	if err != nil {
		return false, err
	}
	for _, m := range is {
		added := !slices.ContainsFunc(should, func(d member) bool { return d.name == m.name })
		if added && (m.name == "valueFrom" || m.name == "value") && !empty(m.value) {
			return false, nil
		}
	}
	return covers("", present, desired)
}
