package farm

// HeaderRules change header fields. They are applied in list order; the API shows positions
// as ids. Patterns are regexes.
type HeaderRules struct {
	AddRequest      []HeaderAdd     `json:"addrequestheader,omitempty"`
	RemoveRequest   []HeaderRemove  `json:"removerequestheader,omitempty"`
	ReplaceRequest  []HeaderReplace `json:"replacerequestheader,omitempty"`
	AddResponse     []HeaderAdd     `json:"addresponseheader,omitempty"`
	RemoveResponse  []HeaderRemove  `json:"removeresponseheader,omitempty"`
	ReplaceResponse []HeaderReplace `json:"replaceresponseheader,omitempty"`
}

// HeaderAdd adds a field line "Name: value".
type HeaderAdd struct {
	Header string `json:"header"`
}

// HeaderRemove removes the field lines that match its regex, which is searched in "Name:
// value", ignoring case.
type HeaderRemove struct {
	Pattern string `json:"pattern"`
}

// HeaderReplace replaces matches of Match by Replace in the values of fields whose name
// matches Header. $1 … $9 are the groups of Match.
type HeaderReplace struct {
	Header  string `json:"header"`
	Match   string `json:"match"`
	Replace string `json:"replace"`
}

// URLRewrite replaces matches of Pattern in the path with query by Replace. After a match
// with Last no other is tried.
type URLRewrite struct {
	Pattern string `json:"pattern"`
	Replace string `json:"replace"`
	Last    bool   `json:"last,omitempty"`
}

// CookieInsert sets a cookie that names the backend and keeps a client there.
type CookieInsert struct {
	Name string `json:"name"`
	// An empty Domain sends none: the cookie is for the requested host.
	Domain string `json:"domain"`
	Path   string `json:"path"`
	// TTL is the Max-Age; 0 sends none: the cookie ends with the browser session.
	TTL Seconds `json:"ttl"`
	// SameSite decides whether browsers send the cookie with requests of other sites.
	SameSite SameSite `json:"samesite,omitempty"`
}

// Secure reports whether the cookie has the attribute Secure. Browsers discard cookies with
// SameSite=None without it.
func (c *CookieInsert) Secure(https bool) bool { return https || c.SameSite == SameSiteNone }

// SameSite is the attribute SameSite of a cookie (RFC 6265bis §4.1.2.7).
type SameSite string

// The values; the zero value acts as SameSiteLax.
const (
	SameSiteLax    SameSite = "lax"    // with requests of the same site, and links from others
	SameSiteNone   SameSite = "none"   // with all requests, e.g. from a frame in another site
	SameSiteStrict SameSite = "strict" // with requests of the same site only
	SameSiteOff    SameSite = "off"    // no attribute: browsers decide
)

// SameSites lists the values.
func SameSites() []SameSite {
	return []SameSite{SameSiteLax, SameSiteNone, SameSiteStrict, SameSiteOff}
}

// DefaultCookie returns the default of cookie insertion: Zevenet's name, every path, the
// requested host and the browser session.
func DefaultCookie() *CookieInsert { return &CookieInsert{Name: "ZENSESSIONID", Path: "/"} }

// ContinueMode is the treatment of Expect: 100-continue.
type ContinueMode string

// The modes; the zero value acts as ContinuePass.
const (
	ContinuePass   ContinueMode = "pass"      // to the backend, which decides
	ContinueIgnore ContinueMode = "ignore"    // handled here, not forwarded
	ContinueSilent ContinueMode = "silent"    // forwarded, but its 100 is dropped
	ContinueNever  ContinueMode = "not-allow" // refused with 417
)

// ContinueModes lists the modes.
func ContinueModes() []ContinueMode {
	return []ContinueMode{ContinuePass, ContinueIgnore, ContinueSilent, ContinueNever}
}

// Overflow is the treatment of clients beyond HTTP.MaxConnections.
type Overflow string

// The treatments; the zero value acts as OverflowWait.
const (
	OverflowWait   Overflow = "wait"   // in the listen queue until another leaves
	OverflowRefuse Overflow = "refuse" // with a 503 response
)

// Overflows lists the treatments.
func Overflows() []Overflow { return []Overflow{OverflowWait, OverflowRefuse} }
