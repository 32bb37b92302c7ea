package launchpriority

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/internal/jsontree"
	"github.com/fairlead-io/fairlead/mutators/podview"
)

// setBarrier makes the container wait for the key of its priority. A barrier that is there stays where it is and is
// corrected: a restored Pod may name the ConfigMap of the Pod it was saved from, and the number of an ordered container
// changes when another webhook puts one before it.
func setBarrier(c *podview.Container, podName string, priority int64) error {
	want := envVar{
		name:      v1beta1.ContainerLaunchBarrierEnv,
		indirect:  true,
		configMap: podName + v1beta1.ContainerLaunchBarrierSuffix,
		key:       v1beta1.ContainerLaunchBarrierKeyPrefix + strconv.FormatInt(priority, 10),
	}
	present, wrong, err := findBarriers(c, want)
	if err != nil {
		return err
	}
	if !present {
		c.Append(podview.Env, want.json())
	}
	for _, i := range wrong {
		c.SetEntry(podview.Env, i, want.json())
	}
	return nil
}

// findBarriers tells whether the container has a barrier, and the indexes of those that are not as wanted.
func findBarriers(c *podview.Container, want envVar) (present bool, wrong []int, err error) {
	if !c.Mentions(podview.Env, v1beta1.ContainerLaunchBarrierEnv) {
		return false, nil, nil
	}
	i := -1
	err = c.Entries(podview.Env, func(raw jsontext.Value) error {
		i++
		env, fault := readEnv(raw)
		if fault != nil || env.name != want.name {
			return fault
		}
		present = true
		if env != want {
			wrong = append(wrong, i)
		}
		return nil
	})
	return present, wrong, err
}

// json is the variable with its reference to the ConfigMap.
func (env envVar) json() jsontext.Value {
	out := jsontext.Value(`{"name":`)
	out = jsontree.AppendQuote(out, env.name)
	out = append(out, `,"valueFrom":{"configMapKeyRef":{"name":`...)
	out = jsontree.AppendQuote(out, env.configMap)
	out = append(out, `,"key":`...)
	out = jsontree.AppendQuote(out, env.key)
	return append(out, `}}}`...)
}
