package metrics_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/stats"
)

func TestL4FarmsAreShownByCarrier(t *testing.T) {
	s, o := setup(t)
	relay := farm.Farm{ID: 7, Name: "relay", L4: farm.DefaultL4()}
	relay.L4.Ports = []farm.PortRange{{First: 25, Last: 25}}
	relay.L4.Backends = []farm.Backend{{ID: 21, Host: "10.0.0.1", Port: 25}, {ID: 22, Host: "10.0.0.2"}}
	wide := farm.Farm{ID: 8, Name: "wide", L4: farm.DefaultL4()}
	wide.L4.Protocol = farm.L4All
	wide.L4.Backends = []farm.Backend{{ID: 23, Host: "10.0.0.3", Maintenance: farm.MaintenanceCut}}
	cfg := &farm.Config{Farms: []farm.Farm{relay, wide}}
	o.Config = func() (*farm.Config, uint64) { return cfg, 1 }
	known := true
	o.Traffic = func() (stats.Traffic, bool) {
		return stats.Traffic{Farms: map[uint32]stats.Farm{8: {Established: 3, PacketsIn: 30}}, Backends: map[uint32]stats.Backend{23: {BytesIn: 77}}}, known
	}
	s.Shard(0).Farm(7).Connections, s.Shard(0).Backend(22).PacketsOut, s.Shard(0).Rejections(7)[1] = 4, 9, 2
	text := scrape(t, o)
	for _, want := range []string{
		`sluice_farm_connections_total{farm="relay"} 4`,
		`sluice_backend_sent_packets_total{backend="10.0.0.2",farm="relay",service=""} 9`,
		`sluice_backend_up{backend="10.0.0.1:25",farm="relay",service=""} 1`,
		`sluice_service_usable_backends{farm="relay",service=""} 2`,
		`sluice_farm_rejections_total{class="timeout",farm="relay"} 2`,
		`sluice_farm_connections{farm="wide"} 3`,
		`sluice_farm_received_packets_total{farm="wide"} 30`,
		`sluice_backend_received_bytes_total{backend="10.0.0.3",farm="wide",service=""} 77`,
		`sluice_backend_maintenance{backend="10.0.0.3",farm="wide",service=""} 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(text, "first_byte_seconds") {
		t.Error("farms without requests have times of requests")
	}
	known = false
	text = scrape(t, o)
	if strings.Contains(text, `sluice_farm_connections{farm="wide"}`) || strings.Contains(text, `received_bytes_total{backend="10.0.0.3"`) {
		t.Error("unknown counters are shown")
	}
	if !strings.Contains(text, `sluice_backend_up{backend="10.0.0.3",farm="wide",service=""} 1`) || !strings.Contains(text, `sluice_farm_connections_total{farm="relay"} 4`) {
		t.Error("known values are missing")
	}
}
