package farm_test

import (
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

func TestRequestIDFollowsTheLogUnlessItWasChosen(t *testing.T) {
	for _, c := range []struct {
		logs   bool
		log    farm.AccessLog
		chosen farm.RequestID
		want   farm.RequestID
	}{
		{want: farm.RequestIDOff},
		{logs: true, want: farm.RequestIDBackend},
		{logs: true, log: farm.AccessLog{Fields: []farm.LogField{farm.LogPath}}, want: farm.RequestIDOff},
		{logs: true, log: farm.AccessLog{Format: farm.LogCombined}, want: farm.RequestIDOff},
		{logs: true, log: farm.AccessLog{Format: farm.LogCombined, Fields: []farm.LogField{farm.LogRequestID}}, want: farm.RequestIDBackend},
		{logs: true, chosen: farm.RequestIDOff, want: farm.RequestIDOff},
		{chosen: farm.RequestIDBoth, want: farm.RequestIDBoth},
	} {
		h := farm.HTTP{Logs: c.logs, AccessLog: c.log, RequestID: c.chosen}
		if got := h.RequestIDMode(); got != c.want {
			t.Errorf("%+v: %q, want %q", c, got, c.want)
		}
	}
}

func TestDefaultFieldsAreFields(t *testing.T) {
	for _, format := range farm.LogFormats() {
		for _, f := range farm.DefaultLogFields(format) {
			if !slices.Contains(farm.LogFields(), f) {
				t.Errorf("%s: %q is no field", format, f)
			}
		}
	}
}

// The log of an l4xnat farm contains connections in JSON, regardless of the format setting.
func TestConnectionsAreLoggedInJSONWithTheirFields(t *testing.T) {
	l := farm.DefaultL4()
	l.Ports, l.DataPath, l.Logs, l.AccessLog.Format = ports(1), farm.DataPathUserspace, true, farm.LogCombined
	f := farm.Farm{Profile: farm.ProfileL4, L4: l}
	if got, on := f.Log(); !on || got.Format != farm.LogJSON || !slices.Equal(got.Fields, farm.ConnectionLogFields()) {
		t.Errorf("%+v, %v", got, on)
	}
	l.AccessLog.Fields = farm.ConnectionLogFields()[:1]
	if got, _ := f.Log(); len(got.Fields) != 1 || l.AccessLog.Format != farm.LogCombined {
		t.Errorf("fields that were chosen: %+v of %+v", got, l.AccessLog)
	}
}
