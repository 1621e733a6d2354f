package api

import (
	"cmp"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// ServiceOptions are what a service may have beside matching, persistence and
// policy. What belongs to a switch that is off is left out, so that what was
// read can be sent back.
type ServiceOptions struct {
	HeadRequire      []string             `json:"headrequire"`
	HeadDeny         []string             `json:"headdeny"`
	IgnoreCase       string               `json:"ignorecase" enum:"true,false"`
	RewriteLocation  farm.RewriteLocation `json:"rewritelocation" doc:"Empty: as the farm says"`
	Pinned           int                  `json:"pinnedconnection" enum:"0,1"`
	AbortOnClose     string               `json:"abortonclose" enum:"true,false"`
	ProxyOut         farm.ProxyOut        `json:"proxyprotocol_out"`
	HTTPS            string               `json:"httpsb" enum:"true,false"`
	HTTPSVerify      farm.Verify          `json:"httpsb_verify,omitempty" doc:"Only with httpsb"`
	HTTPSCA          *string              `json:"httpsb_ca,omitempty" doc:"Only with httpsb"`
	HTTPSName        *string              `json:"httpsb_name,omitempty" doc:"Only with httpsb"`
	HTTPSCertificate *string              `json:"httpsb_certificate,omitempty" doc:"Only with httpsb"`
	BackendProtocol  farm.BackendProtocol `json:"backendprotocol" enum:"http1,h2"`
	CookieInsert     string               `json:"cookieinsert" enum:"true,false"`
	CookieName       string               `json:"cookiename,omitempty" doc:"Only with cookieinsert"`
	CookieDomain     string               `json:"cookiedomain,omitempty" doc:"Only with cookieinsert; left out: the host that was asked for"`
	CookiePath       string               `json:"cookiepath,omitempty" doc:"Only with cookieinsert"`
	CookieTTL        *farm.Seconds        `json:"cookiettl,omitempty" doc:"Only with cookieinsert; 0 ends the cookie with the browser"`
	STS              string               `json:"sts_status" enum:"true,false"`
	STSTimeout       farm.Seconds         `json:"sts_timeout,omitempty" doc:"Only with sts_status"`
	ServedBy         string               `json:"served_by" doc:"Name of the response field that names the backend; empty: none"`

	Split           *uint8       `json:"split,omitempty" doc:"Left out: it shares with nobody"`
	RateLimit       uint32       `json:"ratelimit" doc:"0: none"`
	RateLimitPeriod farm.Seconds `json:"ratelimit_period,omitempty" doc:"Only with ratelimit"`
	RateLimitBurst  uint32       `json:"ratelimit_burst,omitempty" doc:"Only with ratelimit; left out: as many as ratelimit"`
	RateLimitKey    farm.RateKey `json:"ratelimit_key,omitempty" doc:"Only with ratelimit"`
	RateLimitHeader string       `json:"ratelimit_header,omitempty" doc:"Only with ratelimit_key header"`
	Resilience

	AuthUsers  []string `json:"auth_users,omitempty" doc:"Each as name:***, which when sent keeps the password"`
	AuthHeader string   `json:"auth_header,omitempty"`
	AuthKeys   []string `json:"auth_keys,omitempty" doc:"The beginning of their SHA-256, which when sent keeps the key"`
	AuthRealm  string   `json:"auth_realm,omitempty" doc:"Only with auth_users or auth_header"`
	AuthStrip  string   `json:"auth_strip,omitempty" enum:"true,false" doc:"Only with auth_users or auth_header"`

	CompressionOptions

	AddRequest      []AddedHeader    `json:"addrequestheader"`
	RemoveRequest   []RemovedHeader  `json:"removerequestheader"`
	AddResponse     []AddedHeader    `json:"addresponseheader"`
	RemoveResponse  []RemovedHeader  `json:"removeresponseheader"`
	ReplaceRequest  []ReplacedHeader `json:"replacerequestheader"`
	ReplaceResponse []ReplacedHeader `json:"replaceresponseheader"`
	Rewrites        []RewrittenURL   `json:"rewriteurl"`
}

func serviceOptions(v *farm.Service) ServiceOptions {
	out := ServiceOptions{
		HeadRequire: orEmpty(v.HeadRequire), HeadDeny: orEmpty(v.HeadDeny), IgnoreCase: truth(v.IgnoreCase), RewriteLocation: v.RewriteLocation,
		AbortOnClose: truth(!v.IgnoreClose), ProxyOut: cmp.Or(v.ProxyOut, farm.ProxyOutOff),
		HTTPS: truth(v.TLS != nil), BackendProtocol: cmp.Or(v.BackendProtocol, farm.BackendHTTP1), CookieInsert: truth(v.Cookie != nil), STS: truth(v.STS != 0), STSTimeout: v.STS, ServedBy: v.ServedBy,
		AddRequest: shownRules(v.AddRequest, showAdd), RemoveRequest: shownRules(v.RemoveRequest, showRemove),
		AddResponse: shownRules(v.AddResponse, showAdd), RemoveResponse: shownRules(v.RemoveResponse, showRemove),
		ReplaceRequest: shownRules(v.ReplaceRequest, showReplace), ReplaceResponse: shownRules(v.ReplaceResponse, showReplace),
		Rewrites: shownRules(v.Rewrites, showRewrite), CompressionOptions: compressionOptions(v.Compression),
	}
	out.Resilience = resilience(v)
	out.Split = v.Split
	if v.Pinned {
		out.Pinned = 1
	}
	if t := v.TLS; t != nil {
		out.HTTPSVerify, out.HTTPSCA, out.HTTPSName, out.HTTPSCertificate = cmp.Or(t.Verify, farm.VerifyNone), &t.CA, &t.Name, &t.Certificate
	}
	if c := v.Cookie; c != nil {
		out.CookieName, out.CookieDomain, out.CookiePath, out.CookieTTL = c.Name, c.Domain, c.Path, &c.TTL
	}
	if a := v.Auth; a != nil {
		out.AuthUsers, out.AuthKeys = validate.ShownAuth(a)
		out.AuthHeader, out.AuthRealm, out.AuthStrip = a.Header, cmp.Or(a.Realm, farm.DefaultRealm), truth(!a.Pass)
	}
	if l := v.RateLimit; l != nil {
		out.RateLimit, out.RateLimitPeriod, out.RateLimitBurst = l.Requests, l.EffectivePeriod(), l.Burst
		out.RateLimitKey, out.RateLimitHeader = cmp.Or(l.Key, farm.RateKeyIP), l.Header
	}
	return out
}

// orEmpty makes a list that was never set an empty one, not null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
