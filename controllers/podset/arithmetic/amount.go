// Package arithmetic turns the numbers of a workload's strategies into how many Pods to create, delete and update
// (cloneset.md §3.2, §4.1). It knows no Pods, only counts, so that every case of the tables can be written down.
package arithmetic

import (
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// Rounding says which way a percentage goes that is no whole number of Pods.
type Rounding bool

// The two ways.
const (
	Down Rounding = false
	Up   Rounding = true
)

// percentage is what admission lets through; fractions of a percent are legal.
var percentage = regexp.MustCompile(`^\d+(\.\d+)?%$`)

// hundred is the whole of a percentage.
var hundred = big.NewInt(100)

// Resolve is the number of Pods that a value stands for: itself, or a percentage of total. It is never negative. A
// string of digits counts as the number it spells: older admission let it through, and its writer meant that.
func Resolve(value intstr.IntOrString, total int, rounding Rounding) (int, error) {
	if value.Type == intstr.Int {
		return max(value.IntValue(), 0), nil
	}
	if n, err := strconv.ParseInt(value.StrVal, 10, 32); err == nil {
		return max(int(n), 0), nil
	}
	if !percentage.MatchString(value.StrVal) {
		return 0, fmt.Errorf("reading amount %q: it must be a number, or a percentage such as 20%% or 12.5%%", value.StrVal)
	}
	return ofTotal(value.StrVal, total, rounding)
}

// ofTotal is exact: 70% of 10 in floating point is a little more than 7, which would round up to 8.
func ofTotal(percent string, total int, rounding Rounding) (int, error) {
	share, ok := new(big.Rat).SetString(strings.TrimSuffix(percent, "%"))
	if !ok {
		return 0, fmt.Errorf("reading percentage %q: its number cannot be read", percent)
	}
	share.Mul(share, new(big.Rat).SetFrac(big.NewInt(int64(max(total, 0))), hundred))
	pods, rest := new(big.Int).QuoRem(share.Num(), share.Denom(), new(big.Int))
	if rounding == Up && rest.Sign() > 0 {
		pods.Add(pods, big.NewInt(1))
	}
	if !pods.IsInt64() || pods.Int64() > maxPods {
		return maxPods, nil
	}
	return int(pods.Int64()), nil
}

// maxPods is what replicas can say at most.
const maxPods = 1<<31 - 1

// ResolveOr is Resolve with the value to use where there is none, or none that can be read: an object that admission
// did not see must neither stop nor run away.
func ResolveOr(value *intstr.IntOrString, byDefault intstr.IntOrString, total int, rounding Rounding) int {
	if value != nil {
		if n, err := Resolve(*value, total, rounding); err == nil {
			return n
		}
	}
	n, err := Resolve(byDefault, total, rounding)
	if err != nil {
		return 0
	}
	return n
}

// Partition is the number of Pods that stay on old revisions, of replicas (cloneset.md §4.1): rounded up, but a
// percentage other than 100% leaves at least one of several Pods to update. Nothing, or what cannot be read, is 0.
func Partition(value *intstr.IntOrString, replicas int) int {
	if value == nil {
		return 0
	}
	kept, err := Resolve(*value, replicas, Up)
	if err != nil {
		return 0
	}
	if replicas > 1 && kept == replicas && strings.HasSuffix(value.StrVal, "%") && value.StrVal != "100%" {
		kept = replicas - 1
	}
	return min(kept, max(replicas, 0))
}
