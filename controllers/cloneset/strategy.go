package cloneset

import (
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/arithmetic"
)

// What a CloneSet has that says nothing (cloneset.md §1.2).
const (
	defaultReplicas     = 1
	defaultHistoryLimit = 10
)

var (
	defaultMaxUnavailable = intstr.FromString("20%")
	none                  = intstr.FromInt32(0)
	unlimited             = intstr.FromInt32(arithmetic.Unlimited)
)

func replicasOf(set *v1beta1.CloneSet) int {
	return max(int(ptr.Deref(set.Spec.Replicas, defaultReplicas)), 0)
}

// rollingOf is the section of the strategy, of which nothing is set if there is none.
func rollingOf(set *v1beta1.CloneSet) v1beta1.RollingUpdateCloneSetStrategy {
	return ptr.Deref(set.Spec.UpdateStrategy.RollingUpdate, v1beta1.RollingUpdateCloneSetStrategy{})
}

func policyOf(set *v1beta1.CloneSet) v1beta1.PodUpdateStrategyType {
	if policy := rollingOf(set).PodUpdatePolicy; policy != "" {
		return policy
	}
	return v1beta1.RecreatePodUpdateStrategyType
}

func isOnDelete(set *v1beta1.CloneSet) bool {
	return set.Spec.UpdateStrategy.Type == v1beta1.OnDeleteCloneSetUpdateStrategyType
}

func partitionOf(set *v1beta1.CloneSet) int {
	return arithmetic.Partition(rollingOf(set).Partition, replicasOf(set))
}

func minReadyOf(set *v1beta1.CloneSet) time.Duration {
	return time.Duration(set.Spec.MinReadySeconds) * time.Second
}

// boundsOf resolves the strategy (cloneset.md §3.2). What may be unavailable is rounded down beside a surge: the surge
// is there so that less has to be.
func boundsOf(set *v1beta1.CloneSet, settings Settings, sameRevision bool) arithmetic.Bounds {
	replicas, rolling := replicasOf(set), rollingOf(set)
	b := arithmetic.Bounds{
		Replicas:               replicas,
		Partition:              partitionOf(set),
		MaxSurge:               arithmetic.ResolveOr(rolling.MaxSurge, none, replicas, arithmetic.Up),
		ScaleMaxUnavailable:    arithmetic.ResolveOr(set.Spec.ScaleStrategy.MaxUnavailable, unlimited, replicas, arithmetic.Up),
		ExcludePreparingDelete: excludesPreparingDelete(set, settings),
		MayRollBack:            settings.PartitionRollback && !sameRevision,
		OnDelete:               isOnDelete(set),
	}
	if rolling.Paused {
		b.MaxSurge = 0
	}
	rounding := arithmetic.Rounding(b.MaxSurge == 0)
	b.MaxUnavailable = arithmetic.ResolveOr(rolling.MaxUnavailable, defaultMaxUnavailable, replicas, rounding)
	return b
}

// excludesPreparingDelete honours the label too, which is how v1alpha1 says it.
func excludesPreparingDelete(set *v1beta1.CloneSet, settings Settings) bool {
	return settings.ExcludePreparingDelete || set.Spec.ScaleStrategy.ExcludePreparingDelete ||
		set.Labels[v1beta1.CloneSetExcludePreparingDeleteLabel] == "true"
}
