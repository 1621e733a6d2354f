package httpfarm_test

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/validatetest"
)

func TestEverythingAboutLogsIsSetShownAndReset(t *testing.T) {
	for _, c := range []struct {
		body, field, shown string
		want               func(l *farm.AccessLog, h *farm.HTTP)
	}{
		{`{"log_format":"combined"}`, "log_format", `"combined"`, func(l *farm.AccessLog, _ *farm.HTTP) { l.Format = farm.LogCombined }},
		{`{"log_format":"json"}`, "log_format", `"json"`, func(*farm.AccessLog, *farm.HTTP) {}},
		{`{"log_fields":["total_us","path"]}`, "log_fields", `["total_us","path"]`, func(l *farm.AccessLog, _ *farm.HTTP) {
			l.Fields = []farm.LogField{farm.LogTotal, farm.LogPath}
		}},
		{`{"log_fields":["refusal"]}`, "log_fields", `["refusal"]`, func(l *farm.AccessLog, _ *farm.HTTP) { // the former name
			l.Fields = []farm.LogField{farm.LogRejection}
		}},
		{`{"log_fields":[]}`, "log_fields", `[]`, func(*farm.AccessLog, *farm.HTTP) {}},
		{`{"log_headers":"X-Customer"}`, "log_headers", `["X-Customer"]`, func(l *farm.AccessLog, _ *farm.HTTP) { l.Headers = []string{"X-Customer"} }},
		{`{"log_sample":"100"}`, "log_sample", `100`, func(l *farm.AccessLog, _ *farm.HTTP) { l.Sample = 100 }},
		{`{"log_sample":1}`, "log_sample", `1`, func(*farm.AccessLog, *farm.HTTP) {}},
		{`{"log_redact":["pin"]}`, "log_redact", `["pin"]`, func(l *farm.AccessLog, _ *farm.HTTP) { l.Redact = []string{"pin"} }},
		{`{"log_sink":"stdout"}`, "log_sink", `"stdout"`, func(l *farm.AccessLog, _ *farm.HTTP) { l.Sink = farm.LogStdout }},
		{`{"log_file":"all_farms"}`, "log_file", `"all_farms"`, func(l *farm.AccessLog, _ *farm.HTTP) { l.File = "all_farms" }},
		{`{"log_size":1}`, "log_size", `1`, func(l *farm.AccessLog, _ *farm.HTTP) { l.Size = 1 }},
		{`{"log_size":100}`, "log_size", `100`, func(*farm.AccessLog, *farm.HTTP) {}},
		{`{"log_count":1000}`, "log_count", `1000`, func(l *farm.AccessLog, _ *farm.HTTP) { l.Keep = 1000 }},
		{`{"log_target":"tcp://[::1]:601"}`, "log_target", `"tcp://[::1]:601"`, func(l *farm.AccessLog, _ *farm.HTTP) { l.Target = "tcp://[::1]:601" }},
		{`{"log_target":"unix:///dev/log"}`, "log_target", `"unix:///dev/log"`, func(*farm.AccessLog, *farm.HTTP) {}},
		{`{"requestid":"both"}`, "requestid", `"both"`, func(_ *farm.AccessLog, h *farm.HTTP) { h.RequestID = farm.RequestIDBoth }},
		{`{"requestid":"auto"}`, "requestid", `""`, func(*farm.AccessLog, *farm.HTTP) {}},
	} {
		f := farm.Farm{HTTP: farm.DefaultHTTP()}
		values, err := validatetest.Change(t, &httpfarm.Update, &f, c.body)
		want := farm.DefaultHTTP()
		c.want(&want.AccessLog, want)
		if err != nil || !reflect.DeepEqual(f.HTTP, want) || validatetest.Sent(values, c.field) != c.shown {
			t.Errorf("%s: %v\nshown %s, set %+v\nwant  %s, set %+v", c.body, err, validatetest.Sent(values, c.field), f.HTTP, c.shown, want)
		}
		if _, err := validatetest.Change(t, &httpfarm.Update, &f, `{"`+c.field+`":null}`); err != nil || !reflect.DeepEqual(f.HTTP, farm.DefaultHTTP()) {
			t.Errorf("%s reset: %v %+v", c.field, err, f.HTTP)
		}
	}
}

func TestInvalidLogIsRefusedWithTheAllowedValues(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`{"log_format":"xml"}`, `log_format must be one of json, combined, got "xml"`},
		{`{"log_fields":["pathh"]}`, `log_fields must be a list of fields: time, farm`},
		{`{"log_fields":["path","path"]}`, `log_fields must not hold the same twice`},
		{`{"log_fields":["rejection","refusal"]}`, `log_fields must not hold the same twice`},
		{`{"log_headers":["a b"]}`, `log_headers must be a list of at most 8 names, got "a b"`},
		{`{"log_headers":["X-A","x-a"]}`, `log_headers must not hold the same twice`},
		{`{"log_headers":["a","b","c","d","e","f","g","h","i"]}`, `log_headers may have at most 8 items, got 9`},
		{`{"log_headers":["a\nb"]}`, `log_headers must be`},
		{`{"log_sample":0}`, `log_sample must be a number from 1 to 1000000, got 0`},
		{`{"log_redact":["a b"]}`, `log_redact must be`},
		{`{"log_sink":"mail"}`, `log_sink must be one of file, syslog, stdout, got "mail"`},
		{`{"log_file":"../../etc/passwd"}`, `log_file must be a name of letters`},
		{`{"log_file":"a/b"}`, `log_file must be a name of letters`},
		{`{"log_file":"a.log.1"}`, `log_file must be a name of letters`},
		{`{"log_file":"-rf"}`, `log_file must be a name of letters`},
		{`{"log_file":"a\u0000"}`, `log_file must be a name of letters`},
		{`{"log_file":"` + strings.Repeat("a", 65) + `"}`, `log_file must be at most 64 bytes long`},
		{`{"log_size":0}`, `log_size must be a number from 1 to 10240`},
		{`{"log_count":1001}`, `log_count must be a number from 1 to 1000`},
		{`{"log_target":"/dev/log"}`, `log_target must be a syslog target, got "/dev/log"`},
		{`{"log_target":"udp://x"}`, `is not udp://host:port`},
		{`{"requestid":"yes"}`, `requestid must be one of off, backend, both, auto, got "yes"`},
	} {
		f := farm.Farm{HTTP: farm.DefaultHTTP()}
		_, err := validatetest.Change(t, &httpfarm.Update, &f, c.body)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80s\ngot  %v\nwant %s", c.body, err, c.want)
		}
	}
}

func TestFarmsThatShareALogFileAgreeOnIt(t *testing.T) {
	config := func(edit func(a, b *farm.HTTP)) *farm.Config {
		a, b := farm.DefaultHTTP(), farm.DefaultHTTP()
		a.Logs, b.Logs = true, true
		edit(a, b)
		cfg := &farm.Config{}
		for i, h := range []*farm.HTTP{a, b} {
			cfg.Farms = append(cfg.Farms, farm.Farm{Name: string(rune('a' + i)), Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr("10.0.0.5"), VPort: uint16(80 + i), HTTP: h})
		}
		return cfg
	}
	for name, c := range map[string]struct {
		edit func(a, b *farm.HTTP)
		bad  bool
	}{
		"files of their own":    {func(a, b *farm.HTTP) { b.AccessLog.Size = 5 }, false},
		"a file and its limits": {func(a, b *farm.HTTP) { a.AccessLog.File, b.AccessLog.File = "x", "x" }, false},
		"the default, said": {func(a, b *farm.HTTP) {
			a.AccessLog.File, b.AccessLog.File, b.AccessLog.Size = "x", "x", farm.DefaultLogSize
		}, false},
		"a file only":              {func(a, b *farm.HTTP) { a.AccessLog.File, b.AccessLog.File, b.AccessLog.Size = "x", "x", 5 }, true},
		"the other one's default":  {func(a, b *farm.HTTP) { b.AccessLog.File, b.AccessLog.Keep = "a", 5 }, true},
		"a file one does not use":  {func(a, b *farm.HTTP) { a.Logs, b.AccessLog.File, b.AccessLog.Keep = false, "a", 5 }, false},
		"a file one sends to none": {func(a, b *farm.HTTP) { a.AccessLog.Sink, b.AccessLog.File, b.AccessLog.Keep = farm.LogStdout, "a", 5 }, false},
	} {
		cfg := config(c.edit)
		if c.bad { // a second violation: only the first is reported
			again := cfg.Farms[1]
			again.Name, again.VPort = "c", 82
			cfg.Farms = append(cfg.Farms, again)
		}
		err := validate.Config(cfg)
		if (err != nil) != c.bad || err != nil && !strings.Contains(err.Error(), "log_file must not be shared with farm") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
