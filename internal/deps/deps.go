// Package deps names modules that packages under construction will import, so that go.mod settles once.
package deps

import (
	_ "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1" // certificates by cert-manager
	_ "github.com/robfig/cron/v3"                                    // schedules of AdvancedCronJob
)
