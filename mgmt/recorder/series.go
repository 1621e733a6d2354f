package recorder

import (
	"net/url"
	"strconv"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/timeseries"
)

// Series is a number over time of an object.
type Series struct {
	Name string
	// Unit is the unit of a value: B is bytes, /s is a mean per second.
	Unit string
	Kind timeseries.Kind
	Help string
}

// Units of series.
const (
	perSecond = "/s"
	bytes     = "B"
	byteRate  = "B/s"
	seconds   = "s"
	percent   = "%"
	count     = ""
)

var (
	connections = Series{"connections", perSecond, timeseries.Mean, "Client connections accepted"}
	established = Series{"established", count, timeseries.Mean, "Client connections open"}
	pending     = Series{"pending", count, timeseries.Mean, "Connections that are not established yet"}
	requests    = Series{"requests", perSecond, timeseries.Mean, "Requests; of a gslb farm queries"}
	bytesIn     = Series{"bytes_in", byteRate, timeseries.Mean, "Bytes from clients"}
	bytesOut    = Series{"bytes_out", byteRate, timeseries.Mean, "Bytes to clients"}
	failures    = Series{"errors", perSecond, timeseries.Mean, "Answers 5xx; of an l4xnat farm connections without a backend, and datagrams that were dropped; of a gslb farm answers SERVFAIL"}
	median      = Series{"p50", seconds, timeseries.Mean, "Half of all exchanges took at most this long"}
	p99         = Series{"p99", seconds, timeseries.Max, "99 of 100 exchanges took at most this long"}
)

// OfFarm returns the series of a farm. It depends on the traffic of its profile whether
// there are answers and times.
func OfFarm(f *farm.Farm) []Series {
	switch f.Profile.Carries() {
	case farm.TrafficRequests:
		return []Series{connections, established, requests, bytesIn, bytesOut, failures, median, p99}
	case farm.TrafficQueries:
		return []Series{connections, established, requests, bytesIn, bytesOut, failures}
	}
	return []Series{connections, established, pending, bytesIn, bytesOut, failures}
}

// OfBackends are the series of each backend, and their sums the series of a service.
var OfBackends = []Series{
	{"requests", perSecond, timeseries.Mean, "Requests sent; of an l4xnat farm connections"},
	{"errors", perSecond, timeseries.Mean, "Answers 5xx, connects that failed, answers that were cut off, malformed or late"},
	{"established", count, timeseries.Mean, "Exchanges or connections under way"},
}

// OfSystem are the series of the machine.
var OfSystem = []Series{
	{"cpu", percent, timeseries.Mean, "Time in which the processors worked"},
	{"cpu_user", percent, timeseries.Mean, "Of this, programs"},
	{"cpu_nice", percent, timeseries.Mean, "Of this, programs that step back"},
	{"cpu_system", percent, timeseries.Mean, "Of this, the kernel"},
	{"cpu_iowait", percent, timeseries.Mean, "Time in which they waited for disks"},
	{"cpu_irq", percent, timeseries.Mean, "Interrupts"},
	{"cpu_softirq", percent, timeseries.Mean, "Packets and timers, in the kernel"},
	{"load_1", count, timeseries.Mean, "Load over a minute"},
	{"load_5", count, timeseries.Mean, "Load over 5 minutes"},
	{"load_15", count, timeseries.Mean, "Load over 15 minutes"},
	{"memory_used", bytes, timeseries.Mean, "Memory that programs and the kernel hold"},
	{"memory_buffers", bytes, timeseries.Mean, "Memory for buffers of disks"},
	{"memory_cached", bytes, timeseries.Mean, "Memory that holds files"},
	{"swap_used", bytes, timeseries.Mean, "Memory that lies on disk"},
	{"connections", count, timeseries.Mean, "Connections the kernel tracks"},
}

// OfInterfaces are the series of each network interface.
var OfInterfaces = []Series{
	{"in", byteRate, timeseries.Mean, "Bytes received"},
	{"out", byteRate, timeseries.Mean, "Bytes sent"},
}

// OfDisks are the series of each disk.
var OfDisks = []Series{
	{"used", bytes, timeseries.Max, "What is used"},
	{"total", bytes, timeseries.Max, "What there is"},
}

// System is the object of the machine itself.
const System = "system"

// Farm returns the object of a farm, by its stable number.
func Farm(id uint32) string { return "farm-" + strconv.FormatUint(uint64(id), 10) }

// Interface returns the object of a network interface.
func Interface(name string) string { return "interface-" + url.PathEscape(name) }

// Disk returns the object of a mounted file system.
func Disk(mount string) string { return "disk-" + url.PathEscape(mount) }

// OfBackend returns the name of a backend's series among the series of its farm.
func OfBackend(id uint32, series string) string {
	return "backend " + strconv.FormatUint(uint64(id), 10) + " " + series
}
