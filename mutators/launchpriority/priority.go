package launchpriority

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/mutators/podview"
	"github.com/fairlead-io/fairlead/webhook/admission"
	"github.com/fairlead-io/fairlead/webhook/jsonwalk"
)

// maxPriority bounds priorities on both sides: the documented range, which users find in OpenKruise's manual.
const maxPriority = 2147483647

// prioritiesOf is each container's priority. Init containers have none: they are ordered anyway.
func prioritiesOf(pod *podview.Pod) ([]int64, error) {
	priorities := make([]int64, len(pod.Containers))
	if pod.Annotations[v1beta1.ContainerLaunchPriorityAnnotation] == v1beta1.ContainerLaunchPriorityOrdered {
		for i := range priorities {
			priorities[i] = int64(-i)
		}
		return priorities, nil
	}
	var errs field.ErrorList
	for i, c := range pod.Containers {
		if !c.Mentions(podview.Env, v1beta1.ContainerLaunchPriorityEnv) {
			continue
		}
		priority, invalid, err := priorityOf(c, field.NewPath("spec", "containers").Index(i).Child("env"))
		if err != nil {
			return nil, err
		}
		priorities[i] = priority
		errs = append(errs, invalid...)
	}
	if len(errs) > 0 {
		name := pod.Name
		if name == "" {
			name = pod.GenerateName
		}
		return nil, admission.Invalid(schema.GroupKind{Kind: "Pod"}, name, errs)
	}
	return priorities, nil
}

// priorityOf is the last priority that the container's env gives, as the container itself would see it, or 0.
func priorityOf(c *podview.Container, path *field.Path) (priority int64, invalid field.ErrorList, err error) {
	i := -1
	err = c.Entries(podview.Env, func(raw jsontext.Value) error {
		i++
		env, fault := readEnv(raw)
		if fault != nil || env.name != v1beta1.ContainerLaunchPriorityEnv {
			return fault
		}
		n, wrong := parsePriority(env)
		if wrong != nil {
			invalid = append(invalid, field.Invalid(path.Index(i).Child("value"), env.value,
				fmt.Sprintf("%s of container %q %v", env.name, c.Name, wrong)))
		}
		priority = n
		return nil
	})
	return priority, invalid, err
}

func parsePriority(env envVar) (int64, error) {
	if env.indirect {
		return 0, errors.New("must be a literal value: what valueFrom stands for is not known when the Pod is created")
	}
	n, err := strconv.ParseInt(env.value, 10, 64)
	if err != nil || n < -maxPriority || n > maxPriority {
		return 0, fmt.Errorf("must be an integer from %d to %d", -maxPriority, maxPriority)
	}
	return n, nil
}

// envVar is what the mutator reads of an environment variable.
type envVar struct {
	name, value string
	indirect    bool // has a valueFrom
	configMap   string
	key         string
	optional    bool // the kubelet does not wait for the key
}

func readEnv(raw jsontext.Value) (env envVar, err error) {
	if raw == nil {
		return env, nil
	}
	err = jsonwalk.Walk(raw, func(w *jsonwalk.Walker) error {
		return w.Object(func(name string) (err error) {
			switch name {
			case "name":
				env.name, err = w.String()
			case "value":
				env.value, err = w.String()
			case "valueFrom":
				env.indirect = w.Kind() != 'n'
				err = env.readSource(w)
			}
			return err
		})
	})
	if err != nil {
		return env, admission.Refuse(400, "decoding Pod: environment variable: %v", err)
	}
	return env, nil
}

func (env *envVar) readSource(w *jsonwalk.Walker) error {
	return w.Object(func(name string) error {
		if name != "configMapKeyRef" {
			return nil
		}
		return w.Object(func(name string) (err error) {
			switch name {
			case "name":
				env.configMap, err = w.String()
			case "key":
				env.key, err = w.String()
			case "optional":
				env.optional, err = w.Bool()
			}
			return err
		})
	})
}
