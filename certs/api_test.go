package certs

import (
	"strconv"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

const (
	testNamespace = "kruise-system"
	testSecret    = "kruise-webhook-certs"
)

var secretsResource = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// api is a fake API server that, unlike the bare fake clientset, compares resourceVersions and counts writes.
type api struct {
	*fake.Clientset
	mu      sync.Mutex
	version int
	writes  int
	// beforeWrite runs before each write of the client, to let somebody else be quicker.
	beforeWrite func()
	// fail is returned by every call if set.
	fail error
}

func newAPI(t testing.TB, secret *corev1.Secret) *api {
	a := &api{Clientset: fake.NewClientset()}
	a.PrependReactor("*", "secrets", a.react)
	if secret != nil {
		a.put(t, secret)
	}
	return a
}

func (a *api) react(action clienttesting.Action) (bool, runtime.Object, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fail != nil {
		return true, nil, a.fail
	}
	write, ok := action.(clienttesting.CreateAction) // an UpdateAction is one too
	if !ok {
		return false, nil, nil
	}
	if a.beforeWrite != nil {
		a.beforeWrite()
	}
	secret := write.GetObject().(*corev1.Secret).DeepCopy()
	live, err := a.Tracker().Get(secretsResource, testNamespace, testSecret)
	if action.GetVerb() == "create" {
		if err == nil {
			return true, nil, apierrors.NewAlreadyExists(secretsResource.GroupResource(), testSecret)
		}
		a.writes++
		return true, secret, a.Tracker().Create(secretsResource, a.versioned(secret), testNamespace)
	}
	if err != nil {
		return true, nil, err
	}
	if live.(*corev1.Secret).ResourceVersion != secret.ResourceVersion {
		return true, nil, apierrors.NewConflict(secretsResource.GroupResource(), testSecret, nil)
	}
	a.writes++
	return true, secret, a.Tracker().Update(secretsResource, a.versioned(secret), testNamespace)
}

func (a *api) versioned(secret *corev1.Secret) *corev1.Secret {
	a.version++
	secret.ResourceVersion = strconv.Itoa(a.version)
	return secret
}

// put writes the Secret as somebody else does, without counting.
func (a *api) put(t testing.TB, secret *corev1.Secret) {
	t.Helper()
	secret = a.versioned(secret.DeepCopy())
	var err error
	if _, missing := a.Tracker().Get(secretsResource, testNamespace, testSecret); missing != nil {
		err = a.Tracker().Create(secretsResource, secret, testNamespace)
	} else {
		err = a.Tracker().Update(secretsResource, secret, testNamespace)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (a *api) remove(t testing.TB) {
	t.Helper()
	if err := a.Tracker().Delete(secretsResource, testNamespace, testSecret); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
}

func (a *api) secret(t testing.TB) *corev1.Secret {
	t.Helper()
	secret, err := a.CoreV1().Secrets(testNamespace).Get(t.Context(), testSecret, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

func (a *api) state(t testing.TB) state {
	t.Helper()
	s, complaints := decode(a.secret(t).Data)
	if len(complaints) > 0 {
		t.Fatal(complaints)
	}
	return s
}

func secretWith(data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Name: testSecret, Namespace: testNamespace, Labels: map[string]string{"app.kubernetes.io/managed-by": "Helm"},
	}, Data: data}
}
