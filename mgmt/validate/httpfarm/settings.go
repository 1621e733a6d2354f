package httpfarm

import (
	"math"
	"net/netip"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/format"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// MaxBody is the maximum of the request body limit in bytes: 1 TiB.
const MaxBody = 1 << 40

// MinHead and MaxHead bound the limit of request heads in bytes. Less would reject real
// requests, more exceeds a read of the engine.
const MinHead, MaxHead = 1 << 10, 64 << 10

// MaxGrace is the maximum grace period after a stop, in seconds.
const MaxGrace = 3600

// settings are the fields of an http farm except address and listener. Each may be set
// alone; GET shows all of them.
var settings = []field.Field[farm.Farm]{
	seconds("contimeout", field.Basic(field.AtTimeouts, "Connect timeout").In(field.Seconds), "Maximum time to connect to a backend, in seconds.", func(h *farm.HTTP) *farm.Seconds { return &h.ConnectTimeout }),
	seconds("restimeout", field.Basic(field.AtTimeouts, "Response timeout").In(field.Seconds), "Maximum wait for the next bytes from a backend, in seconds.", func(h *farm.HTTP) *farm.Seconds { return &h.ResponseTimeout }),
	seconds("resurrectime", field.Advanced(field.AtTimeouts, "Max. retry interval").In(field.Seconds), "Maximum interval between retries of a down backend, in seconds; retries start at 0.2 s and double; at least contimeout.", func(h *farm.HTTP) *farm.Seconds { return &h.ResurrectTime }),
	seconds("reqtimeout", field.Basic(field.AtTimeouts, "Request timeout").In(field.Seconds), "Maximum time to receive a request head, and maximum client inactivity afterwards, in seconds.", func(h *farm.HTTP) *farm.Seconds { return &h.RequestTimeout }),
	bound("wstimeout", field.Advanced(field.AtTimeouts, "Tunnel timeout").In(field.Seconds), "Maximum idle time of a tunnel (e.g. WebSocket), in seconds.", 1, format.MaxTimeout, farm.DefaultTunnelTimeout, func(h *farm.HTTP) *farm.Seconds { return &h.TunnelTimeout }),
	bound("grace", field.Advanced(field.AtTimeouts, "Stop grace period").In(field.Seconds), "Time for requests in flight to finish after the farm is stopped, in seconds.", 1, MaxGrace, farm.DefaultStopGrace, func(h *farm.HTTP) *farm.Seconds { return &h.StopGrace }),
	word("rewritelocation", field.Basic(field.AtResponses, "Rewrite Location"), "Location headers of responses to rewrite.", farm.RewriteLocations(),
		func(h *farm.HTTP) *farm.RewriteLocation { return &h.RewriteLocation }),
	truth("rewritehost", field.Advanced(field.AtRequests, "Rewrite Host"), "Replace the Host header with the backend's own address.", func(h *farm.HTTP) *bool { return &h.RewriteHost }),
	truth("rewritedestination", field.Advanced(field.AtRequests, "Rewrite Destination"), "Rewrite the Destination header of WebDAV requests to match the Host header sent to the backend.", func(h *farm.HTTP) *bool { return &h.RewriteDestination }),
	word("httpverb", field.Basic(field.AtRequests, "Allowed methods"), "Allowed request methods; any allows every method except CONNECT.", farm.VerbSets(), func(h *farm.HTTP) *farm.VerbSet { return &h.Verbs }),
	farmCheckURL,
	choice("path_policy", field.Advanced(field.AtRequests, "Path policy"), "Path sent to backends: asis (unchanged, byte for byte), canonical (the form used to select services, without dot segments and duplicate slashes) or strict (canonical, and paths with an escaped slash or backslash or double encoding get a 400).",
		farm.PathPolicies(), farm.PathAsIs, nil, func(h *farm.HTTP) *farm.PathPolicy { return &h.PathPolicy }),
	truth("ignorecase", field.Advanced(field.AtMatching, "Ignore case"), "Ignore case in checkurl and in the URL rules of all services.", func(h *farm.HTTP) *bool { return &h.IgnoreCase }),
	farmContinue,
	bound("maxrequest", field.Advanced(field.AtLimits, "Max. request head").In(field.Bytes), "Maximum size of a request head, in bytes.", MinHead, MaxHead, farm.DefaultMaxHead, func(h *farm.HTTP) *uint32 { return &h.MaxHead }),
	bound("maxbody", field.Basic(field.AtLimits, "Max. request body").In(field.Bytes), "Maximum size of a request body, in bytes; larger ones get a 413. 0 disables the limit.", 0, MaxBody, 0, func(h *farm.HTTP) *uint64 { return &h.MaxBody }),
	bound("maxconnections", field.Basic(field.AtLimits, "Max. connections").Costs(field.CostConnections), "Maximum number of client connections; 0 disables the limit.", 0, field.Unbounded, 0, func(h *farm.HTTP) *uint32 { return &h.MaxConnections }),
	choice("overflow", field.Advanced(field.AtLimits, "When the limit is reached"), "Handling of clients above maxconnections: wait queues them until a connection is free; refuse rejects them with 503, or closes the connection if it uses TLS.", farm.Overflows(), farm.OverflowWait,
		nil, func(h *farm.HTTP) *farm.Overflow { return &h.Overflow }),
	bound("mark", field.Advanced(field.AtBackends, "Mark").Costs(field.CostConnections), "Firewall mark (SO_MARK) for connections to backends without their own mark, for policy routing; 0 sets none.", 0, math.MaxUint32, 0, func(h *farm.HTTP) *uint32 { return &h.Mark }),
	farmTrusted,
	farmProxyIn,
	truth("logs", field.Basic(field.AtLogging, "Logging"), "Write a line to the farm's access log for each request.", func(h *farm.HTTP) *bool { return &h.Logs }),
	errorText("error414", field.Basic(field.AtErrors, "Too long (414)"), "Body of the 414 response to a request that is too long.", func(h *farm.HTTP) *string { return &h.Error414 }),
	errorText("error500", field.Basic(field.AtErrors, "Internal error (500)"), "Body of the 500 response after an internal error.", func(h *farm.HTTP) *string { return &h.Error500 }),
	errorText("error501", field.Basic(field.AtErrors, "Method (501)"), "Body of the 501 response to a disallowed method.", func(h *farm.HTTP) *string { return &h.Error501 }),
	errorText("error503", field.Basic(field.AtErrors, "Unavailable (503)"), "Body of the 503 response when no backend is available.", func(h *farm.HTTP) *string { return &h.Error503 }),
	errorText("errorWAF", field.Basic(field.AtErrors, "Blocked"), "Body of the response to a request blocked by security rules.", func(h *farm.HTTP) *string { return &h.ErrorWAF }),
}

// farmContinue was a boolean in the past and is numeric in Zevenet's core. All three
// spellings are accepted; the words are shown.
var farmContinue = choice("ignore_100_continue", field.Advanced(field.AtRequests, "Expect: 100-continue"),
	"Handling of Expect: 100-continue: pass forwards it, ignore responds to it locally, silent forwards it but drops the interim response, not-allow rejects the request with 417.",
	farm.ContinueModes(), farm.ContinuePass, map[string]string{
		"false": string(farm.ContinuePass), "true": string(farm.ContinueIgnore),
		"0": string(farm.ContinuePass), "1": string(farm.ContinueIgnore), "2": string(farm.ContinueSilent), "3": string(farm.ContinueNever),
	}, func(h *farm.HTTP) *farm.ContinueMode { return &h.Continue })

var farmCheckURL = field.Field[farm.Farm]{
	Rule: field.Rule{Name: "checkurl", Hints: field.Advanced(field.AtRequests, "Allowed paths"), Kind: field.Text, Format: "regex", Blank: true, MaxLen: format.MaxPattern, Check: CheckPattern, Must: "a valid regular expression",
		About: "Regex that the request path must match both as sent and decoded; other requests get a 400. Empty allows every path."},
	Get: func(f *farm.Farm) field.Value { return field.TextValue(read(f).CheckURL) },
	Set: func(f *farm.Farm, v field.Value) { edit(f).CheckURL = v.Text() },
}

var farmTrusted = profile.Networks(part, "trusted", field.Advanced(field.AtProxy, "Trusted peers").Costs(field.CostConnections),
	"Clients whose X-Forwarded-For and similar headers are trusted and that may send a PROXY protocol header, if proxyprotocol_in allows it. After a PROXY header, the address in that header is checked.",
	func(h *farm.HTTP) *[]netip.Prefix { return &h.Trusted })

func seconds(name string, h field.Hints, about string, at func(*farm.HTTP) *farm.Seconds) field.Field[farm.Farm] {
	return profile.Seconds(part, name, h, about, format.MaxTimeout, at)
}

// bound returns the field of a number whose zero value means the default.
func bound[N ~uint32 | ~uint64](name string, h field.Hints, about string, least, most int64, unset N,
	at func(*farm.HTTP) *N) field.Field[farm.Farm] {
	return profile.Bound(part, name, h, about, least, most, unset, at)
}

func truth(name string, h field.Hints, about string, at func(*farm.HTTP) *bool) field.Field[farm.Farm] {
	return profile.Truth(part, name, h, about, at)
}

func word[W ~string](name string, h field.Hints, about string, words []W,
	at func(*farm.HTTP) *W) field.Field[farm.Farm] {
	return profile.Word(part, name, h, about, words, at)
}

// choice returns the field of a word whose zero value means the default.
func choice[W ~string](name string, h field.Hints, about string, words []W, unset W,
	normalize map[string]string, at func(*farm.HTTP) *W) field.Field[farm.Farm] {
	return profile.Choice(part, name, h, about, words, unset, normalize, at)
}

func errorText(name string, h field.Hints, about string, at func(*farm.HTTP) *string) field.Field[farm.Farm] {
	return field.Field[farm.Farm]{
		Rule: field.Rule{Name: name, Hints: h, Kind: field.Text, Blank: true, MaxLen: format.MaxErrorText,
			Check: checkErrorText, About: about},
		Get: func(f *farm.Farm) field.Value { return field.TextValue(*at(read(f))) },
		Set: func(f *farm.Farm, v field.Value) { *at(edit(f)) = v.Text() },
	}
}

// edit returns the settings to change; the defaults for a new farm.
func edit(f *farm.Farm) *farm.HTTP {
	if f.HTTP == nil {
		f.HTTP = farm.DefaultHTTP()
	}
	return f.HTTP
}

var part = profile.Part[farm.HTTP]{Edit: edit, Read: read, New: farm.DefaultHTTP}

// read returns the settings to read; the defaults for a farm without any, which another
// rule rejects.
func read(f *farm.Farm) *farm.HTTP {
	if f.HTTP == nil {
		return farm.DefaultHTTP()
	}
	return f.HTTP
}
