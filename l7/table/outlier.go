package table

import (
	"cmp"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// Outlier is when a service ejects a backend.
type outlier struct {
	Errors  int // in a row
	Time    time.Duration
	Percent int
}

func newOutlier(s *farm.Service) *outlier {
	if s.OutlierErrors == 0 {
		return nil
	}
	return &outlier{
		Errors: int(s.OutlierErrors), Time: time.Duration(nanos(cmp.Or(s.OutlierTime, farm.DefaultOutlierTime))),
		Percent: int(cmp.Or(s.OutlierPercent, farm.DefaultOutlierPercent)),
	}
}
