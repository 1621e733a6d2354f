package validate

import (
	"math"
	"net/netip"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// Limits of settings that the contract leaves open.
const (
	// MaxBody is the maximum of the request body limit in bytes: 1 TiB.
	MaxBody = 1 << 40
	// MinHead and MaxHead bound the limit of request heads in bytes. Less would reject real
	// requests, more exceeds a read of the engine.
	MinHead, MaxHead = 1 << 10, 64 << 10
	// MaxGrace is the maximum grace period after a stop, in seconds.
	MaxGrace = 3600
	// MaxTrusted bounds the trusted networks of a farm.
	MaxTrusted = 256
)

// settings are the fields of an http farm except address and listener. Each may be set
// alone; GET shows all of them.
var settings = []field[farm.Farm]{
	seconds("contimeout", basic(atTimeouts, "Connect timeout").in(inSeconds), "Seconds one connect to a backend may take.", func(h *farm.HTTP) *farm.Seconds { return &h.ConnectTimeout }),
	seconds("restimeout", basic(atTimeouts, "Response timeout").in(inSeconds), "Seconds to wait for the next bytes of a backend.", func(h *farm.HTTP) *farm.Seconds { return &h.ResponseTimeout }),
	seconds("resurrectime", advanced(atTimeouts, "Retry of backends that are down").in(inSeconds), "Most seconds between two tries of a backend that is down, which begin at 0.2 and double; not below contimeout.", func(h *farm.HTTP) *farm.Seconds { return &h.ResurrectTime }),
	seconds("reqtimeout", basic(atTimeouts, "Request timeout").in(inSeconds), "Seconds a client may take for its request head, and be silent later.", func(h *farm.HTTP) *farm.Seconds { return &h.RequestTimeout }),
	bound("wstimeout", advanced(atTimeouts, "Tunnel timeout").in(inSeconds), "Seconds a tunnel, as of a WebSocket, may be silent.", 1, MaxTimeout, farm.DefaultTunnelTimeout, func(h *farm.HTTP) *farm.Seconds { return &h.TunnelTimeout }),
	bound("grace", advanced(atTimeouts, "Grace after a stop").in(inSeconds), "Seconds exchanges may go on after the farm was stopped.", 1, MaxGrace, farm.DefaultStopGrace, func(h *farm.HTTP) *farm.Seconds { return &h.StopGrace }),
	word("rewritelocation", basic(atResponses, "Rewrite Location"), "Which Location headers of responses are rewritten.", farm.RewriteLocations(),
		func(h *farm.HTTP) *farm.RewriteLocation { return &h.RewriteLocation }),
	truth("rewritehost", advanced(atRequests, "Rewrite Host"), "Whether backends get their own address as Host.", func(h *farm.HTTP) *bool { return &h.RewriteHost }),
	truth("rewritedestination", advanced(atRequests, "Rewrite Destination"), "Whether the Destination of WebDAV requests is made to agree with the Host that backends get.", func(h *farm.HTTP) *bool { return &h.RewriteDestination }),
	word("httpverb", basic(atRequests, "Accepted methods"), "Request methods that are accepted; any is every method but CONNECT.", farm.VerbSets(), func(h *farm.HTTP) *farm.VerbSet { return &h.Verbs }),
	farmCheckURL,
	choice("path_policy", advanced(atRequests, "Path policy"), "Which path backends get: asis (byte for byte as the client sent it), canonical (the form services are chosen by: without dot segments and doubled slashes) or strict (canonical, and a path with an escaped slash or backslash, or encoded twice, gets a 400).",
		farm.PathPolicies(), farm.PathAsIs, nil, func(h *farm.HTTP) *farm.PathPolicy { return &h.PathPolicy }),
	truth("ignorecase", advanced(atMatching, "Ignore case"), "Whether checkurl and the URL rules of all services ignore case.", func(h *farm.HTTP) *bool { return &h.IgnoreCase }),
	farmContinue,
	bound("maxrequest", advanced(atLimits, "Longest request head").in(inBytes), "Bytes a request head may have.", MinHead, MaxHead, farm.DefaultMaxHead, func(h *farm.HTTP) *uint32 { return &h.MaxHead }),
	bound("maxbody", basic(atLimits, "Longest request body").in(inBytes), "Bytes a request body may have, more is answered 413; 0 means no bound.", 0, MaxBody, 0, func(h *farm.HTTP) *uint64 { return &h.MaxBody }),
	bound("maxconnections", basic(atLimits, "Most connections").costs(CostConnections), "Clients that may be connected; 0 means no bound.", 0, maxUnbounded, 0, func(h *farm.HTTP) *uint32 { return &h.MaxConnections }),
	choice("overflow", advanced(atLimits, "Beyond that"), "What happens to clients beyond maxconnections: wait until there is room, or refuse them: with 503, over TLS by closing.", farm.Overflows(), farm.OverflowWait,
		nil, func(h *farm.HTTP) *farm.Overflow { return &h.Overflow }),
	bound("mark", advanced(atBackends, "Mark").costs(CostConnections), "Mark (SO_MARK) of connections to backends that have none of their own, for routing rules; 0 sets none.", 0, math.MaxUint32, 0, func(h *farm.HTTP) *uint32 { return &h.Mark }),
	farmTrusted,
	farmProxyIn,
	truth("logs", basic(atLogging, "Logging"), "Whether every exchange leaves a line in the farm's access log.", func(h *farm.HTTP) *bool { return &h.Logs }),
	errorText("error414", basic(atErrors, "Too long (414)"), "Body of the answer to a too long request.", func(h *farm.HTTP) *string { return &h.Error414 }),
	errorText("error500", basic(atErrors, "Internal error (500)"), "Body of the answer to an internal error.", func(h *farm.HTTP) *string { return &h.Error500 }),
	errorText("error501", basic(atErrors, "Method (501)"), "Body of the answer to a method that is not accepted.", func(h *farm.HTTP) *string { return &h.Error501 }),
	errorText("error503", basic(atErrors, "Unavailable (503)"), "Body of the answer when no backend can be used.", func(h *farm.HTTP) *string { return &h.Error503 }),
	errorText("errorWAF", basic(atErrors, "Blocked"), "Body of the answer to a request that security rules block.", func(h *farm.HTTP) *string { return &h.ErrorWAF }),
}

// farmContinue was a boolean in the past and is numeric in Zevenet's core. All three
// spellings are accepted; the words are shown.
var farmContinue = choice("ignore_100_continue", advanced(atRequests, "Expect: 100-continue"),
	"What is done with Expect: 100-continue: pass it to the backend, ignore (answer it here), silent (pass it, but not the interim answer back), not-allow (417).",
	farm.ContinueModes(), farm.ContinuePass, map[string]string{
		"false": string(farm.ContinuePass), "true": string(farm.ContinueIgnore),
		"0": string(farm.ContinuePass), "1": string(farm.ContinueIgnore), "2": string(farm.ContinueSilent), "3": string(farm.ContinueNever),
	}, func(h *farm.HTTP) *farm.ContinueMode { return &h.Continue })

var farmCheckURL = field[farm.Farm]{
	rule: rule{name: "checkurl", hints: advanced(atRequests, "Accepted paths"), kind: kindText, format: "regex", blank: true, maxLen: MaxPattern, check: checkPattern, must: "a valid regular expression",
		about: "Regex the path of every request must match, as it was sent and decoded, otherwise the request gets a 400; empty accepts all."},
	get: func(f *farm.Farm) Value { return textValue(httpSeen(f).CheckURL) },
	set: func(f *farm.Farm, v Value) { httpOf(f).CheckURL = v.text },
}

var farmTrusted = networksIn(httpPart, "trusted", advanced(atProxy, "Trusted peers").costs(CostConnections),
	"Clients whose X-Forwarded-For and the like are believed, and who may send a header of the PROXY protocol if proxyprotocol_in says so. Of a connection that began with one, it is the address in it that counts.",
	func(h *farm.HTTP) *[]netip.Prefix { return &h.Trusted })

func seconds(name string, h hints, about string, at func(*farm.HTTP) *farm.Seconds) field[farm.Farm] {
	return secondsIn(httpPart, name, h, about, MaxTimeout, at)
}

// bound returns the field of a number whose zero value means the default.
func bound[N ~uint32 | ~uint64](name string, h hints, about string, least, most int64, unset N, at func(*farm.HTTP) *N) field[farm.Farm] {
	return boundIn(httpPart, name, h, about, least, most, unset, at)
}

func truth(name string, h hints, about string, at func(*farm.HTTP) *bool) field[farm.Farm] {
	return truthIn(httpPart, name, h, about, at)
}

func word[W ~string](name string, h hints, about string, words []W, at func(*farm.HTTP) *W) field[farm.Farm] {
	return wordIn(httpPart, name, h, about, words, at)
}

// choice returns the field of a word whose zero value means the default.
func choice[W ~string](name string, h hints, about string, words []W, unset W, normalize map[string]string, at func(*farm.HTTP) *W) field[farm.Farm] {
	return choiceIn(httpPart, name, h, about, words, unset, normalize, at)
}

// orZero returns v, or the zero value if v is the default.
func orZero[T comparable](v, unset T) T {
	if v == unset {
		var zero T
		return zero
	}
	return v
}

func errorText(name string, h hints, about string, at func(*farm.HTTP) *string) field[farm.Farm] {
	return field[farm.Farm]{
		rule: rule{name: name, hints: h, kind: kindText, blank: true, maxLen: MaxErrorText, check: checkErrorText, about: about},
		get:  func(f *farm.Farm) Value { return textValue(*at(httpSeen(f))) },
		set:  func(f *farm.Farm, v Value) { *at(httpOf(f)) = v.text },
	}
}

// httpOf returns the settings to change; the defaults for a new farm.
func httpOf(f *farm.Farm) *farm.HTTP {
	if f.HTTP == nil {
		f.HTTP = farm.DefaultHTTP()
	}
	return f.HTTP
}

var httpPart = part[farm.HTTP]{httpOf, httpSeen, farm.DefaultHTTP}

// httpSeen returns the settings to read; the defaults for a farm without any, which another
// rule rejects.
func httpSeen(f *farm.Farm) *farm.HTTP {
	if f.HTTP == nil {
		return farm.DefaultHTTP()
	}
	return f.HTTP
}

// parseNetwork parses an address or a network and clears host bits.
func parseNetwork(s string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(s); err == nil {
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	return p.Masked(), err
}

// NetworkText formats a network for bodies and documents; a single address has no prefix
// length.
func NetworkText(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}

func checkNetwork(s string) string {
	p, err := parseNetwork(s)
	switch {
	case err != nil:
		return "it is neither an address nor a network as 192.0.2.0/24"
	case strings.Contains(s, "%"):
		return "addresses with a zone are not supported"
	case p.Addr().Is4In6():
		return "write the IPv4 address itself"
	}
	return ""
}

func canonNetwork(s string) string {
	p, err := parseNetwork(s)
	if err != nil {
		return s
	}
	return NetworkText(p)
}
