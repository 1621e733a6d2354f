package system

import (
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluicelb/sluice/mgmt/acme"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/resolve"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/system"
)

// Settings stores settings of this node; *store.Store implements it.
type Settings interface {
	Setting(name string) (value string, ok bool)
	SetSetting(name, value string) error
}

// settingNames holds the names of api_names, separated by blanks.
const settingNames = "api_names"

// maxNames bounds the names in api_names.
const maxNames = 32

// Names returns the configured names, also for the certificate of the API.
func Names(s Settings) []string {
	text, _ := s.Setting(settingNames)
	return strings.Fields(text)
}

// GlobalSettings holds settings of the appliance outside of the configuration.
type GlobalSettings struct {
	Names []string `json:"api_names" doc:"Additional host names that browsers may use for the API, besides those of its certificate and of the machine"`
	// MinTTL and MaxTTL bound the TTL of a host name's address.
	MinTTL int64 `json:"resolve_min_ttl" doc:"Minimum TTL used for the address of a backend's host name, in seconds"`
	MaxTTL int64 `json:"resolve_max_ttl" doc:"Maximum TTL used, in seconds"`
	// GoneTime is the delay after which the last addresses of a name without addresses are
	// withdrawn.
	GoneTime int64 `json:"resolve_gone_time" doc:"Time in seconds after which gslb services stop returning the last known addresses of a name that no longer resolves"`
	// Life is the idle timeout of login sessions.
	Life int64 `json:"session_timeout" doc:"Session idle timeout, in minutes"`
	// LogLevel is nil if the start-up setting applies.
	LogLevel  *string `json:"log_level" doc:"Log level of mgmt; null uses SLUICE_LOG"`
	OrderTime int64   `json:"le_renewal_timeout" doc:"Timeout for ordering or renewing a certificate, in seconds, not counting the wait for DNS records"`
	Develops  string  `json:"cors_devel_mode" enum:"true,false" doc:"true if pages on the machine of a logged-in user may use the API with a session cookie"`
	Fixed
}

const minTTL, maxTTL, goneTime, sessionTime = "resolve_min_ttl", "resolve_max_ttl", "resolve_gone_time", "session_timeout"

// orEmpty returns an empty list for nil, which would be encoded as null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// settings returns the current settings.
func (s *Resource) settings() GlobalSettings {
	ttl := resolve.LoadLimits(s.deps.Settings)
	out := GlobalSettings{Names: orEmpty(Names(s.deps.Settings)), MinTTL: int64(ttl.MinTTL.Seconds()), MaxTTL: int64(ttl.MaxTTL.Seconds()), GoneTime: int64(ttl.GoneTime.Seconds()), Life: int64(auth.LoadSessionTime(s.deps.Settings).Minutes()),
		OrderTime: int64(acme.LoadOrderTime(s.deps.Settings).Seconds()), Develops: strconv.FormatBool(Develops(s.deps.Settings)), Fixed: fixed}
	if level := LogLevel(s.deps.Settings); level != "" {
		out.LogLevel = &level
	}
	return out
}

func (s *Resource) getGlobal(c *rest.Call) (rest.Object[GlobalSettings], error) {
	return rest.Object[GlobalSettings]{Description: c.Summary(), Params: s.settings()}, nil
}

func (s *Resource) setGlobal(c *rest.Call) (rest.Object[GlobalSettings], error) {
	body, err := c.Object(&system.Settings)
	if err != nil {
		return rest.Object[GlobalSettings]{}, err
	}
	list, err := readNames(body)
	if err != nil {
		return rest.Object[GlobalSettings]{}, err
	}
	ttl, err := s.readTTL(body)
	if err != nil {
		return rest.Object[GlobalSettings]{}, err
	}
	life, err := s.readLife(body)
	if err != nil {
		return rest.Object[GlobalSettings]{}, err
	}
	node, err := s.readNode(body)
	if err != nil {
		return rest.Object[GlobalSettings]{}, err
	}
	if err := c.Act(); err != nil {
		return rest.Object[GlobalSettings]{}, err
	}
	if _, sent := body[settingNames]; sent {
		err = s.deps.Settings.SetSetting(settingNames, strings.Join(list, " "))
	}
	if err == nil && ttl != resolve.LoadLimits(s.deps.Settings) {
		err = resolve.SaveLimits(s.deps.Settings, ttl)
	}
	if err == nil && life != auth.LoadSessionTime(s.deps.Settings) {
		err = auth.SaveSessionTime(s.deps.Settings, life)
	}
	if err == nil {
		err = s.saveNode(node)
	}
	if err != nil {
		return rest.Object[GlobalSettings]{}, rest.RejectionOf(err, false)
	}
	by := c.Author()
	out, err := s.getGlobal(c)
	s.deps.Log.Info("settings of the appliance changed", settingNames, out.Params.Names, minTTL, ttl.MinTTL, maxTTL, ttl.MaxTTL, goneTime, ttl.GoneTime, sessionTime, life, logLevel, node.level, orderTime, node.order, develops, node.develops, "by", by.Name, slog.String("source", by.Source))
	out.Message = "The settings have been changed."
	if node.develops {
		out.Warning = "cors_devel_mode is on: pages on the machine of who is logged in may act as that user; set it false when the web interface is developed"
	}
	return out, err
}

// readTTL reads the TTL limits. Missing ones are unchanged, null means the default.
func (s *Resource) readTTL(body map[string]any) (resolve.Limits, error) {
	l := resolve.LoadLimits(s.deps.Settings)
	for name, to := range map[string]struct{ at, unset *time.Duration }{
		minTTL: {&l.MinTTL, &resolve.DefaultLimits.MinTTL}, maxTTL: {&l.MaxTTL, &resolve.DefaultLimits.MaxTTL}, goneTime: {&l.GoneTime, &resolve.DefaultLimits.GoneTime},
	} {
		raw, sent := body[name]
		if !sent {
			continue
		}
		*to.at = *to.unset
		if raw == nil {
			continue
		}
		n, ok := field.ParseNumber(raw)
		if !ok || n < 0 || n > 1<<31 {
			return l, rest.BadRequest("%s must be a number of seconds, got %s", name, rest.Quote(fmt.Sprint(raw)))
		}
		*to.at = time.Duration(n) * time.Second
	}
	if err := l.Check(); err != nil {
		return l, rest.BadRequest("resolve_%s", err)
	}
	return l, nil
}

// readLife reads the session timeout. If missing it is unchanged, null means the default.
func (s *Resource) readLife(body map[string]any) (time.Duration, error) {
	raw, sent := body[sessionTime]
	switch {
	case !sent:
		return auth.LoadSessionTime(s.deps.Settings), nil
	case raw == nil:
		return auth.SessionTime, nil
	}
	n, ok := field.ParseNumber(raw)
	if most := int64(auth.MostSessionTime / time.Minute); !ok || n < 1 || n > most {
		return 0, rest.BadRequest("%s: a number of minutes from 1 to %d is allowed, got %s", sessionTime, most, rest.Quote(fmt.Sprint(raw)))
	}
	return time.Duration(n) * time.Minute, nil
}

// readNames reads api_names: a list, or comma-separated names. The latter may also be the
// only item of a list, as commands send it.
func readNames(body map[string]any) ([]string, error) {
	switch raw := body[settingNames].(type) {
	case nil:
		return nil, nil
	case string:
		body = map[string]any{settingNames: []any{raw}}
		if raw == "" {
			return nil, nil
		}
	}
	items, err := rest.TextList(body, settingNames)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, item := range items {
		for name := range strings.SplitSeq(item, ",") {
			list = append(list, strings.TrimSpace(name))
		}
	}
	if len(list) > maxNames {
		return nil, rest.BadRequest("%s: at most %d names are possible, got %d", settingNames, maxNames, len(list))
	}
	var out []string
	for _, name := range list {
		bare := rest.BareName(name)
		if !rest.ValidHost(bare) || bare == "" || strings.ContainsAny(bare, ":[") {
			return nil, rest.BadRequest("%s: %s is no host name; write it without a port, addresses need no entry", settingNames, rest.Quote(name))
		}
		if !slices.Contains(out, bare) {
			out = append(out, bare)
		}
	}
	return out, nil
}
