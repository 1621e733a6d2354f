package recorder

import (
	"math"
	"time"

	"github.com/sluicelb/sluice/mgmt/timeseries"
	"github.com/sluicelb/sluice/sysnet/usage"
)

// recordSystem records the usage of the machine.
func (r *Recorder) recordSystem(now time.Time, elapsed float64, first bool) {
	before, s := r.system, r.options.Usage(now)
	r.system = s
	if first {
		return
	}
	cpu := s.CPU.Since(before.CPU)
	tracked := float64(s.Connections)
	if tracked < 0 {
		tracked = math.NaN()
	}
	r.write(System, now, OfSystem, cpu.Usage, cpu.User, cpu.Nice, cpu.System, cpu.IOWait, cpu.IRQ, cpu.SoftIRQ,
		s.Load[0], s.Load[1], s.Load[2],
		float64(s.Memory.Used()), float64(s.Memory.Buffers), float64(s.Memory.Cached), float64(s.Memory.SwapUsed()), tracked)
	had := map[string]usage.Interface{}
	for _, i := range before.Interfaces {
		had[i.Name] = i
	}
	for _, i := range s.Interfaces {
		if was, ok := had[i.Name]; ok {
			r.write(Interface(i.Name), now, OfInterfaces, rate(i.In, was.In, elapsed), rate(i.Out, was.Out, elapsed))
		}
	}
	for _, d := range s.Disks {
		r.write(Disk(d.Mount), now, OfDisks, float64(d.Used), float64(d.Total))
	}
}

// write records values that are in the order of series.
func (r *Recorder) write(object string, now time.Time, series []Series, is ...float64) {
	values := make([]timeseries.Value, len(series))
	for i, s := range series {
		values[i] = timeseries.Value{Series: s.Name, Kind: s.Kind, Value: is[i]}
	}
	r.options.DB.Write(object, now, values)
}
