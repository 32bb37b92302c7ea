package sources

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/internal/bell"
	"github.com/fairlead-io/fairlead/validators/userpolicy"
)

const (
	// pause follows each round, so that a burst of changes is one write for each set: with sets that change ten times a second
	// the API server gets one.
	pause = time.Second
	// look is how often states are looked at without news: of an inventory that becomes readable, or unreadable, there are none.
	look = 10 * time.Second
	// oneWrite is ample for a patch.
	oneWrite = 10 * time.Second
)

// longestEvent keeps below the API server's bound of 1024 characters for the message of an event.
const longestEvent = 1000

// fieldManager is who we are in managedFields.
const fieldManager = "fairlead-policies"

// Reasons of the events on ConfigMaps.
const (
	ReasonActive  = "PolicyActive"
	ReasonInvalid = "PolicyInvalid"
	// ReasonIncomplete is for a set in force of which some rules are not asked, of which nobody knows whether it is the newest, or which
	// is not kept.
	ReasonIncomplete = "PolicyIncomplete"
)

// Writer writes the statuses of sets onto their ConfigMaps, and keeps what is in force beside them. It works on the replica that
// leads the registration alone.
type Writer struct {
	keeper    *Keeper
	client    kubernetes.Interface
	namespace string
	recorder  record.EventRecorder
	clock     clock.WithTicker
	bell      bell.Bell
	// taken is when the names of copies, by their sets, were last found to be somebody else's.
	taken map[string]time.Time
}

// NewWriter makes a Writer.
func NewWriter(keeper *Keeper, client kubernetes.Interface, namespace string, recorder record.EventRecorder, clock clock.WithTicker) *Writer {
	w := &Writer{
		keeper: keeper, client: client, namespace: namespace, recorder: recorder, clock: clock, bell: bell.New(), taken: make(map[string]time.Time),
	}
	keeper.Notify(w.bell.Ring)
	return w
}

// Run writes until ctx ends.
func (w *Writer) Run(ctx context.Context) {
	for ctx.Err() == nil {
		w.round(ctx)
		w.wait(ctx, pause, nil)
		w.wait(ctx, look, w.bell)
	}
}

func (w *Writer) wait(ctx context.Context, d time.Duration, news bell.Bell) {
	timer := w.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	case <-news:
	}
}

func (w *Writer) round(ctx context.Context) {
	for _, state := range w.keeper.States() {
		if state.Object == nil || state.unread() || ctx.Err() != nil {
			continue
		}
		notKept, err := w.keep(ctx, state)
		if err = errors.Join(err, w.write(ctx, state, notKept)); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Cannot write what became of a set of policies", "set", state.Name)
		}
	}
}

func (w *Writer) write(ctx context.Context, state State, notKept string) error {
	var missing error
	if state.Set != nil && w.keeper.Inventories != nil {
		waiting, err := w.keeper.Inventories.Missing(state.Set)
		if waiting {
			return nil // in a moment there is more to say
		}
		missing = err
	}
	status := statusOf(state, missing)
	status.NotKept = notKept
	text, err := next(state.Object.Status, status, w.clock.Now())
	if err != nil || text == state.Object.Status {
		return err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": state.Object.UID, "annotations": map[string]string{StatusAnnotation: text},
	}})
	if err != nil {
		return fmt.Errorf("encoding a patch: %w", err)
	}
	within, cancel := context.WithTimeout(ctx, oneWrite)
	defer cancel()
	_, err = w.client.CoreV1().ConfigMaps(w.namespace).Patch(within, state.Object.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return nil // it is another one by now, of which we shall hear
	case err != nil:
		return fmt.Errorf("patching ConfigMap %s/%s: %w", w.namespace, state.Object.Name, err)
	}
	// Until the watch says the same, it counts as written.
	w.keeper.Written(state.Name, &Object{Name: state.Object.Name, UID: state.Object.UID, Status: text})
	w.tell(state, status)
	return nil
}

// tell makes an event of a status.
func (w *Writer) tell(state State, status Status) {
	on := &corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: w.namespace, Name: state.Object.Name, UID: state.Object.UID}
	switch {
	case status.State == Invalid:
		w.recorder.Event(on, corev1.EventTypeWarning, ReasonInvalid, userpolicy.Shortened(status.Message, longestEvent))
		return
	case status.Message != "" || status.NotKept != "":
		w.recorder.Event(on, corev1.EventTypeWarning, ReasonIncomplete, userpolicy.Shortened(cmp.Or(status.Message, status.NotKept), longestEvent))
		return
	}
	w.recorder.Event(on, corev1.EventTypeNormal, ReasonActive, fmt.Sprintf("Revision %s is in force. Rules: %d.", status.Revision, status.Rules))
}
