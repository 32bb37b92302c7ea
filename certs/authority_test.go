package certs

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
)

const testHost = "kruise-admission.kruise-system.svc"

func newAuthority(t testing.TB, a *api, clock clock.WithTicker, published func(context.Context, []byte) (bool, error)) *Authority {
	t.Helper()
	authority, err := NewAuthority(Options{
		Client: a, Namespace: testNamespace, Secret: testSecret, Hosts: []string{testHost}, Clock: clock, Published: published,
	})
	if err != nil {
		t.Fatal(err)
	}
	return authority
}

// running starts replicas in a bubble with a clock of its own and waits until they have nothing to do.
func running(t *testing.T, a *api, replicas int, test func(replicas []*Authority)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var all []*Authority
		for range replicas {
			authority := newAuthority(t, a, clock.RealClock{}, nil)
			all = append(all, authority)
			go func() {
				if err := authority.Run(ctx); err != nil {
					t.Error(err)
				}
			}()
		}
		settle()
		test(all)
		stop()
		settle()
	})
}

// settle lets replicas do what they have to do, given a moment for their pauses.
func settle() {
	time.Sleep(time.Second)
	synctest.Wait()
}

// served fails the test unless every replica's certificate is accepted with every replica's bundle.
func served(t *testing.T, replicas []*Authority) {
	t.Helper()
	for i, one := range replicas {
		certificate, err := one.GetCertificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		for j, other := range replicas {
			if err := accepts(t, other.Bundle(), certificate, testHost, time.Now()); err != nil {
				t.Errorf("certificate of replica %d with the bundle of %d: %v", i, j, err)
			}
		}
	}
}

func TestReplicasThatStartTogetherShareOneCA(t *testing.T) {
	for name, secret := range map[string]*corev1.Secret{"no Secret": nil, "the empty one of Helm": secretWith(nil)} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t, secret)
			running(t, a, 3, func(replicas []*Authority) {
				served(t, replicas)
				if a.writes != 1 {
					t.Errorf("%d writes, want 1", a.writes)
				}
				if !bytes.Equal(replicas[0].Bundle(), a.secret(t).Data["ca-cert.pem"]) {
					t.Error("the bundle is not the CA of the Secret")
				}
			})
		})
	}
}

// Another replica creates or writes the Secret between our read and our write.
func TestTheQuickerReplicaWins(t *testing.T) {
	other := caEnding(t, time.Now().Add(9*year))
	data, err := state{current: other}.encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, secret := range map[string]*corev1.Secret{"create": nil, "update": secretWith(nil)} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t, secret)
			raced := false
			a.beforeWrite = func() {
				if !raced {
					raced = true
					a.put(t, secretWith(data))
				}
			}
			authority := newAuthority(t, a, clock.RealClock{}, nil)
			if _, err := authority.sync(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !raced || a.writes != 0 {
				t.Errorf("raced %v, %d writes of ours", raced, a.writes)
			}
			if !bytes.Equal(authority.Bundle(), other.certPEM) {
				t.Error("the other replica's CA was not taken")
			}
		})
	}
}

func TestADeletedSecretIsReplacedWithoutABreak(t *testing.T) {
	a := newAPI(t, secretWith(nil))
	running(t, a, 2, func(replicas []*Authority) {
		first := a.state(t).current
		registered := replicas[0].Bundle()
		changed := replicas[0].Subscribe()
		a.remove(t)
		settle()
		s := a.state(t)
		if !s.current.equal(first) || s.next == nil {
			t.Fatal("the CA in use must stay and another be staged")
		}
		select {
		case <-changed:
		default:
			t.Error("the change of the bundle was not announced")
		}
		if diff := cmp.Diff(secretWith(nil).Labels, a.secret(t).Labels); diff != "" {
			t.Errorf("Helm's labels are lost:\n%s", diff)
		}
		for _, replica := range replicas {
			certificate, _ := replica.GetCertificate(nil)
			if err := accepts(t, registered, certificate, testHost, time.Now()); err != nil {
				t.Errorf("not accepted with the bundle as registered before: %v", err)
			}
		}
		registered = replicas[1].Bundle()
		time.Sleep(time.Hour)
		settle()
		if s := a.state(t); s.current.equal(first) || s.next != nil || !bytes.Contains(replicas[0].Bundle(), first.certPEM) {
			t.Error("an hour later the new CA must sign and the old one still be trusted")
		}
		served(t, replicas)
		for _, replica := range replicas {
			certificate, _ := replica.GetCertificate(nil)
			if err := accepts(t, registered, certificate, testHost, time.Now()); err != nil {
				t.Errorf("not accepted with the bundle registered while staged: %v", err)
			}
		}
		time.Sleep(25 * time.Hour)
		settle()
		if bytes.Contains(replicas[0].Bundle(), first.certPEM) || len(a.state(t).previous) > 0 {
			t.Error("the old CA is still trusted a day after its last leaf")
		}
		served(t, replicas)
		if a.writes != 4 { // create; create with staged; promote; drop
			t.Errorf("%d writes, want 4", a.writes)
		}
	})
}

func TestADamagedSecretIsRepaired(t *testing.T) {
	for name, data := range map[string]map[string][]byte{
		"emptied":       nil,
		"rubbish":       {"ca-cert.pem": []byte("x"), "ca-key.pem": []byte("y")},
		"only the cert": {"ca-cert.pem": caEnding(t, time.Now().Add(year)).certPEM},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t, nil)
			running(t, a, 2, func(replicas []*Authority) {
				first := a.state(t).current
				a.put(t, secretWith(data))
				settle()
				if s := a.state(t); !s.current.equal(first) || s.next == nil {
					t.Error("the CA in use must be put back and another staged")
				}
				served(t, replicas)
			})
			// Nobody remembers a CA: a new one is made.
			b := newAPI(t, secretWith(data))
			running(t, b, 2, func(replicas []*Authority) {
				served(t, replicas)
				if b.writes != 1 {
					t.Errorf("%d writes, want 1", b.writes)
				}
			})
		})
	}
}

func TestACAThatSomebodyPutsThereIsStagedFirst(t *testing.T) {
	a := newAPI(t, nil)
	running(t, a, 2, func(replicas []*Authority) {
		first := a.state(t).current
		certPEM, keyPEM := openKruiseCA(t, time.Now().Add(9*year))
		a.put(t, secretWith(map[string][]byte{"ca-cert.pem": certPEM, "ca-key.pem": keyPEM}))
		settle()
		s := a.state(t)
		if !s.current.equal(first) || s.next == nil || !bytes.Equal(s.next.certPEM, certPEM) {
			t.Fatal("the new CA must wait for clients to get it")
		}
		served(t, replicas)
		time.Sleep(time.Hour)
		settle()
		if got := a.state(t).current; !bytes.Equal(got.certPEM, certPEM) {
			t.Error("it does not sign an hour later")
		}
		served(t, replicas)
	})
}

// How long it waits at which age is plan's matter; here it is that replicas do it at the right time, alone.
func TestAnAgingCAIsReplacedWhenItsTimeHasCome(t *testing.T) {
	a := newAPI(t, nil)
	synctest.Test(t, func(t *testing.T) {
		data, err := state{current: caEnding(t, time.Now().Add(4*24*time.Hour))}.encode()
		if err != nil {
			t.Fatal(err)
		}
		a.put(t, secretWith(data))
	})
	running(t, a, 2, func(replicas []*Authority) {
		s := a.state(t)
		first := s.current
		if s.next == nil || s.promoteAfter.Sub(time.Now().Truncate(time.Minute)) != 48*time.Hour {
			t.Fatalf("with four days left the next CA is due in %v, want two days", time.Until(s.promoteAfter))
		}
		time.Sleep(48*time.Hour - time.Minute)
		settle()
		if !a.state(t).current.equal(first) {
			t.Error("replaced before its time")
		}
		time.Sleep(time.Minute)
		settle()
		if a.state(t).current.equal(first) {
			t.Error("not replaced at its time")
		}
		served(t, replicas)
	})
}

// What a replica knew before it lost the API server for a day may have been replaced and dropped since.
func TestAReplicaThatWasAwayDoesNotPutItsOldCABack(t *testing.T) {
	a := newAPI(t, nil)
	running(t, a, 1, func(replicas []*Authority) {
		a.mu.Lock()
		a.fail = errors.New("the API server is away")
		a.mu.Unlock()
		time.Sleep(13 * time.Hour)
		if _, err := replicas[0].GetCertificate(nil); err != nil {
			t.Errorf("serving stopped: %v", err)
		}
		replacement := caEnding(t, time.Now().Add(9*year))
		data, err := state{current: replacement}.encode()
		if err != nil {
			t.Fatal(err)
		}
		a.mu.Lock()
		a.fail = nil
		a.mu.Unlock()
		a.put(t, secretWith(data))
		time.Sleep(time.Minute)
		synctest.Wait()
		if !a.state(t).current.equal(replacement) || !bytes.Equal(replicas[0].Bundle(), replacement.certPEM) {
			t.Error("the old CA was put back")
		}
	})
}

func TestSteadyStateWritesNothing(t *testing.T) {
	a := newAPI(t, nil)
	running(t, a, 3, func(replicas []*Authority) {
		time.Sleep(24 * time.Hour)
		settle()
		if a.writes != 1 {
			t.Errorf("%d writes in a day, want the first one only", a.writes)
		}
		served(t, replicas)
	})
}

func TestNothingIsServedBeforeTheSecretIsRead(t *testing.T) {
	a := newAPI(t, nil)
	authority := newAuthority(t, a, clock.RealClock{}, nil)
	if _, err := authority.GetCertificate(nil); err == nil {
		t.Error("a certificate without a CA")
	}
	if authority.Ready() == nil || authority.Bundle() != nil {
		t.Error("ready without a CA")
	}
	a.fail = errors.New("forbidden")
	if _, err := authority.sync(t.Context()); !errors.Is(err, a.fail) {
		t.Errorf("got %v", err)
	}
	a.fail = nil
	if _, err := authority.sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := authority.Ready(); err != nil {
		t.Error(err)
	}
}

func TestANextCAWaitsUntilClientsHaveIt(t *testing.T) {
	c, d := caEnding(t, time.Now().Add(9*year)), caEnding(t, time.Now().Add(10*year))
	data, err := state{current: c, next: d, promoteAfter: time.Now().Add(-time.Hour)}.encode()
	if err != nil {
		t.Fatal(err)
	}
	a := newAPI(t, secretWith(data))
	answers := map[string]bool{string(c.certPEM): true}
	var failure error
	authority := newAuthority(t, a, clock.RealClock{}, func(_ context.Context, caPEM []byte) (bool, error) {
		return answers[string(caPEM)], failure
	})
	for _, step := range []struct {
		name string
		do   func()
		want *ca
	}{
		{"not published", func() {}, c},
		{"cannot tell", func() { answers[string(d.certPEM)], failure = true, errors.New("away") }, c},
		{"published", func() { failure = nil }, d},
	} {
		step.do()
		if _, err := authority.sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !a.state(t).current.equal(step.want) {
			t.Errorf("%s: the wrong CA signs", step.name)
		}
	}
}

func TestAStartingReplicaIsNotReadyBeforeItsCAIsRegistered(t *testing.T) {
	a := newAPI(t, nil)
	registered := false
	authority := newAuthority(t, a, clock.RealClock{}, func(context.Context, []byte) (bool, error) { return registered, nil })
	idle, err := authority.sync(t.Context())
	if err != nil || authority.Ready() == nil || idle != time.Second {
		t.Errorf("%v; ready: %v; looks again in %v", err, authority.Ready(), idle)
	}
	registered = true
	if _, err := authority.sync(t.Context()); err != nil || authority.Ready() != nil {
		t.Errorf("%v; ready: %v", err, authority.Ready())
	}
	registered = false // later drift is the registrar's to repair, not a reason to stop serving
	if _, err := authority.sync(t.Context()); err != nil || authority.Ready() != nil {
		t.Errorf("%v; ready: %v", err, authority.Ready())
	}
}
