package api

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluicelb/sluice/mgmt/resolve"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// Settings keeps settings of this node; *store.Store is one.
type Settings interface {
	Setting(name string) (value string, ok bool)
	SetSetting(name, value string) error
}

// settingNames holds the names of api_names, separated by blanks.
const settingNames = "api_names"

// maxNames is how many names api_names may hold.
const maxNames = 32

// names knows by which names browsers may reach the API. A page whose name an
// attacker made lead here (DNS rebinding) has another one.
type names struct {
	settings    Settings
	certificate *x509.Certificate // of the API; nil: none
	own         func() []string
	now         func() time.Time

	mu    sync.Mutex
	known []string  // what own said last
	until time.Time // when it is asked again
}

// ownNamesAge is how long the answer of own is believed.
const ownNamesAge = time.Minute

// are reports whether the name in a Host header is one of this machine: any
// address (nobody can rebind an address), a name of the certificate, one that
// was set, or the name of the host.
func (n *names) are(host string) bool {
	name := bareName(hostOnly(host))
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return name == "localhost" || strings.HasSuffix(name, ".localhost") ||
		n.certificate != nil && n.certificate.VerifyHostname(name) == nil ||
		slices.Contains(Names(n.settings), name) || slices.Contains(n.hosts(), name)
}

// bareName is a name as it is compared.
func bareName(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

func (n *names) hosts() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now := n.now(); n.known == nil || !now.Before(n.until) {
		n.known, n.until = []string{}, now.Add(ownNamesAge)
		for _, name := range n.own() {
			name = bareName(name)
			short, _, _ := strings.Cut(name, ".")
			n.known = append(n.known, name, short)
		}
	}
	return n.known
}

// Names are the names that were set, for the certificate of the API too.
func Names(s Settings) []string {
	text, _ := s.Setting(settingNames)
	return strings.Fields(text)
}

// hostNames is the name of this machine, and the one with its domain if the
// resolver knows it.
func hostNames() []string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if whole, err := net.DefaultResolver.LookupCNAME(ctx, name); err == nil {
		return []string{name, whole}
	}
	return []string{name}
}

// GlobalSettings are settings of the whole appliance that are no configuration.
type GlobalSettings struct {
	Names []string `json:"api_names" doc:"Names by which browsers may reach the API, besides those of its certificate and of the host"`
	// MinTTL and MaxTTL bound for how long an address of a host name is believed.
	MinTTL int64 `json:"resolve_min_ttl" doc:"Seconds for which the address of a backend's host name is believed at least, whatever the name server says"`
	MaxTTL int64 `json:"resolve_max_ttl" doc:"Seconds for which it is believed at most"`
}

const minTTL, maxTTL = "resolve_min_ttl", "resolve_max_ttl"

// orEmpty makes a list that was never set an empty one, not null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func (s *Server) getGlobal(c *call) (Object[GlobalSettings], error) {
	ttl := resolve.LoadLimits(s.deps.Settings)
	return Object[GlobalSettings]{Description: c.op.summary, Params: GlobalSettings{
		orEmpty(Names(s.deps.Settings)), int64(ttl.MinTTL.Seconds()), int64(ttl.MaxTTL.Seconds())}}, nil
}

func (s *Server) setGlobal(c *call) (Object[GlobalSettings], error) {
	if _, err := c.expected(); err != nil {
		return Object[GlobalSettings]{}, err
	}
	body, err := c.object(&validate.GlobalSettings)
	if err != nil {
		return Object[GlobalSettings]{}, err
	}
	list, err := readNames(body)
	if err != nil {
		return Object[GlobalSettings]{}, err
	}
	ttl, err := s.readTTL(body)
	if err != nil {
		return Object[GlobalSettings]{}, err
	}
	if err := c.act(); err != nil {
		return Object[GlobalSettings]{}, err
	}
	if _, sent := body[settingNames]; sent {
		err = s.deps.Settings.SetSetting(settingNames, strings.Join(list, " "))
	}
	if err == nil && ttl != resolve.LoadLimits(s.deps.Settings) {
		err = resolve.SaveLimits(s.deps.Settings, ttl)
	}
	if err != nil {
		return Object[GlobalSettings]{}, rejectionOf(err, false)
	}
	by := c.author()
	out, err := s.getGlobal(c)
	s.deps.Log.Info("settings of the appliance changed", settingNames, out.Params.Names, minTTL, ttl.MinTTL, maxTTL, ttl.MaxTTL, "by", by.Name, slog.String("source", by.Source))
	out.Message = "The settings have been changed."
	return out, err
}

// readTTL reads the bounds of times to live; what is not sent stays, null is the
// default.
func (s *Server) readTTL(body map[string]any) (resolve.Limits, error) {
	l := resolve.LoadLimits(s.deps.Settings)
	for name, to := range map[string]struct{ at, unset *time.Duration }{
		minTTL: {&l.MinTTL, &resolve.DefaultLimits.MinTTL}, maxTTL: {&l.MaxTTL, &resolve.DefaultLimits.MaxTTL},
	} {
		raw, sent := body[name]
		if !sent {
			continue
		}
		*to.at = *to.unset
		if raw == nil {
			continue
		}
		n, ok := validate.ParseNumber(raw)
		if !ok || n < 0 || n > 1<<31 {
			return l, badRequest("%s must be a number of seconds, got %s", name, quoteName(fmt.Sprint(raw)))
		}
		*to.at = time.Duration(n) * time.Second
	}
	if err := l.Check(); err != nil {
		return l, badRequest("resolve_%s", err)
	}
	return l, nil
}

// readNames reads api_names: a list, or names with commas between them, which may
// be the only item of a list, as commands send them.
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
	items, err := textList(body, settingNames)
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
		return nil, badRequest("%s: at most %d names are possible, got %d", settingNames, maxNames, len(list))
	}
	var out []string
	for _, name := range list {
		bare := bareName(name)
		if !validHost(bare) || bare == "" || strings.ContainsAny(bare, ":[") {
			return nil, badRequest("%s: %s is no host name; write it without a port, addresses need no entry", settingNames, quoteName(name))
		}
		if !slices.Contains(out, bare) {
			out = append(out, bare)
		}
	}
	return out, nil
}
