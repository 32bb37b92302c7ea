package cloneset

import (
	"fmt"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

func conditionOf(s *v1beta1.CloneSetStatus, of v1beta1.CloneSetConditionType) *v1beta1.CloneSetCondition {
	i := slices.IndexFunc(s.Conditions, func(c v1beta1.CloneSetCondition) bool { return c.Type == of })
	if i < 0 {
		return nil
	}
	return &s.Conditions[i]
}

func removeCondition(s *v1beta1.CloneSetStatus, of v1beta1.CloneSetConditionType) {
	s.Conditions = slices.DeleteFunc(s.Conditions, func(c v1beta1.CloneSetCondition) bool { return c.Type == of })
}

// setCondition writes a condition. Its times move only with its status and reason; the message is always the newest.
func setCondition(s *v1beta1.CloneSetStatus, c v1beta1.CloneSetCondition, now time.Time) {
	at := metav1.NewTime(now)
	old := conditionOf(s, c.Type)
	if old == nil {
		c.LastUpdateTime, c.LastTransitionTime = at, at
		s.Conditions = append(s.Conditions, c)
		return
	}
	c.LastUpdateTime, c.LastTransitionTime = old.LastUpdateTime, old.LastTransitionTime
	if old.Status != c.Status || old.Reason != c.Reason {
		c.LastUpdateTime = at
	}
	if old.Status != c.Status {
		c.LastTransitionTime = at
	}
	*old = c
}

// reportFailure says whether the last pass failed at something. A pass that was tried and succeeded takes back an earlier
// failure. Of many failures, which are as a rule the same of many Pods, it tells the first.
func reportFailure(s *v1beta1.CloneSetStatus, of v1beta1.CloneSetConditionType, err error, tried bool, now time.Time) {
	switch fault := firstFault(err); {
	case fault != nil:
		setCondition(s, v1beta1.CloneSetCondition{Type: of, Status: corev1.ConditionTrue, Message: fault.Error()}, now)
	case err == nil && tried && conditionOf(s, of) != nil:
		setCondition(s, v1beta1.CloneSetCondition{Type: of, Status: corev1.ConditionFalse}, now)
	}
}

// planProgress says whether the rollout goes on as it should, if the CloneSet has a deadline for it (cloneset.md §1.6).
func (p *planner) planProgress() {
	s, deadline := &p.plan.Status, p.set.Spec.ProgressDeadlineSeconds
	if deadline == nil || *deadline == math.MaxInt32 {
		removeCondition(s, v1beta1.CloneSetConditionTypeProgressing)
		return
	}
	c := v1beta1.CloneSetCondition{Type: v1beta1.CloneSetConditionTypeProgressing, Status: corev1.ConditionTrue}
	c.Reason, c.Message = p.restReason()
	if c.Reason != "" {
		setCondition(s, c, p.now)
		return
	}
	limit := time.Duration(*deadline) * time.Second
	running := p.runningSince()
	if running != nil && (running.Reason == v1beta1.CloneSetProgressDeadlineExceeded || running.LastUpdateTime.Add(limit).Before(p.now)) {
		c.Status, c.Reason = corev1.ConditionFalse, v1beta1.CloneSetProgressDeadlineExceeded
		c.Message = fmt.Sprintf("revision %s was not rolled out within %s", p.update.Name, limit)
		setCondition(s, c, p.now)
		return
	}
	if running == nil {
		removeCondition(s, v1beta1.CloneSetConditionTypeProgressing) // the clock starts anew
	}
	c.Reason, c.Message = v1beta1.CloneSetProgressUpdated, "the rollout goes on"
	transition := p.set.Status.DeepCopy()
	setCondition(s, c, p.now)
	if old := conditionOf(transition, c.Type); running == nil && old != nil && old.Status == c.Status {
		conditionOf(s, c.Type).LastTransitionTime = old.LastTransitionTime
	}
	p.plan.Wake.in(conditionOf(s, c.Type).LastUpdateTime.Add(limit + time.Second).Sub(p.now))
}

// runningSince is the condition by whose time the deadline is measured: none if the rollout has only just begun, from
// a state of rest or to another revision.
func (p *planner) runningSince() *v1beta1.CloneSetCondition {
	c := conditionOf(&p.set.Status, v1beta1.CloneSetConditionTypeProgressing)
	if c == nil || p.set.Status.UpdateRevision != p.update.Name ||
		c.Reason != v1beta1.CloneSetProgressUpdated && c.Reason != v1beta1.CloneSetProgressDeadlineExceeded {
		return nil
	}
	return c
}

// restReason is why nothing is to be expected of the rollout now, "" if something is.
func (p *planner) restReason() (reason, message string) {
	s, replicas := &p.plan.Status, int32(replicasOf(p.set))
	switch {
	case s.CurrentRevision == s.UpdateRevision && s.Replicas == replicas && s.UpdatedReplicas == replicas && s.UpdatedAvailableReplicas == replicas:
		return v1beta1.CloneSetAvailable, "all Pods are at the newest revision and available"
	case rollingOf(p.set).Paused:
		return v1beta1.CloneSetPaused, "the rollout is paused"
	case s.ExpectedUpdatedReplicas < replicas && s.ExpectedUpdatedReplicas <= s.UpdatedAvailableReplicas:
		return v1beta1.CloneSetProgressPartitionAvailable, "as many Pods are updated as the partition lets be"
	default:
		return "", ""
	}
}
