package podunavailablebudget

import (
	"context"
	"errors"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

var (
	now     = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	budgets = schema.GroupResource{Group: "policy.kruise.io", Resource: "podunavailablebudgets"}
	shopWeb = types.NamespacedName{Namespace: "shop", Name: "web"}
)

// budget has 3 Pods, of which 2 must be available, so that 1 may go.
func budget(change ...func(*Budget)) *Budget {
	b := &Budget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", ResourceVersion: "1"}}
	b.Status.TotalReplicas, b.Status.DesiredAvailable, b.Status.CurrentAvailable, b.Status.UnavailableAllowed = 3, 2, 3, 1
	for _, c := range change {
		c(b)
	}
	return b
}

// available is a Pod of the budget.
func available(change ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web-1", UID: "uid-1", Labels: map[string]string{"app": "web"},
			Annotations:     map[string]string{"pub.kruise.io/related-pub": "web", "kruise.io/related-pub": "web"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "rs", Controller: ptr.To(true)}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:v1"}}},
		Status: corev1.PodStatus{
			Phase:             corev1.PodRunning,
			Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "web", Image: "web:v1", ImageID: "web@sha256:aa"}},
		},
	}
	for _, c := range change {
		c(pod)
	}
	return pod
}

// server is the API server's part: optimistic writes of one budget.
type server struct {
	mu      sync.Mutex
	budget  *Budget
	version int
	writes  int
	// conflicts is how many writes lose against somebody else's, failure what reads say.
	conflicts int
	failure   error
	// read is told of each read before it happens.
	read func()
}

func (s *server) Get(context.Context, types.NamespacedName) (*Budget, error) {
	if s.read != nil {
		s.read()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure != nil {
		return nil, s.failure
	}
	if s.budget == nil {
		return nil, apierrors.NewNotFound(budgets, "web")
	}
	return s.budget.DeepCopy(), nil
}

func (s *server) UpdateStatus(_ context.Context, b *Budget) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	switch {
	case s.budget == nil:
		return apierrors.NewNotFound(budgets, "web")
	case s.conflicts > 0:
		s.conflicts--
		return apierrors.NewConflict(budgets, "web", errors.New("changed"))
	case b.ResourceVersion != s.budget.ResourceVersion:
		return apierrors.NewConflict(budgets, "web", errors.New("changed"))
	}
	s.version++
	s.budget.Status = *b.Status.DeepCopy()
	s.budget.ResourceVersion = time.Duration(s.version).String()
	return nil
}

func half() float64 { return 0.5 }
