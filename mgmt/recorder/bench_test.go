package recorder_test

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/stats/statstest"
	"github.com/sluicelb/sluice/mgmt/recorder"
	"github.com/sluicelb/sluice/mgmt/timeseries"
	"github.com/sluicelb/sluice/sysnet/usage"
)

// A round of a thousand farms with ten backends each. There is one every 5 seconds: 100 ms
// of CPU time are 2 % of one core.
func BenchmarkRoundOfAThousandFarms(b *testing.B) {
	cfg := &farm.Config{}
	for i := range uint32(1000) {
		f := farm.Farm{ID: i + 1, Name: fmt.Sprint("farm", i), Profile: farm.ProfileHTTP, HTTP: &farm.HTTP{Services: []farm.Service{{Name: "all"}}}}
		for j := range uint32(10) {
			f.HTTP.Services[0].Backends = append(f.HTTP.Services[0].Backends, farm.Backend{ID: i*10 + j + 1})
		}
		cfg.Farms = append(cfg.Farms, f)
	}
	db, err := timeseries.Open(b.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	r := recorder.New(recorder.Options{DB: db, Counters: statstest.New(b, 2), Config: func() *farm.Config { return cfg }, Usage: func(time.Time) usage.Sample { return usage.Sample{} }})
	now := noon
	round := func() {
		r.Record(now)
		now = now.Add(5 * time.Second)
	}
	for range 3 {
		round() // the files are made
	}
	b.ResetTimer()
	for b.Loop() {
		round()
	}
}
