package farm

// HeaderRules change header fields. Order within a list is the order of
// application; the API shows positions as ids. Patterns are regexes.
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

// HeaderRemove removes the field lines that its regex finds ("Name: value" is
// what is searched, ignoring case).
type HeaderRemove struct {
	Pattern string `json:"pattern"`
}

// HeaderReplace replaces, in the values of the fields whose name matches
// Header, what Match finds by Replace, where $1 … $9 are Match's groups.
type HeaderReplace struct {
	Header  string `json:"header"`
	Match   string `json:"match"`
	Replace string `json:"replace"`
}

// URLRewrite replaces what Pattern finds in the path (with its query) by
// Replace; after a match of one with Last no other is tried.
type URLRewrite struct {
	Pattern string `json:"pattern"`
	Replace string `json:"replace"`
	Last    bool   `json:"last,omitempty"`
}

// CookieInsert sets a cookie that names the backend and keeps a client there.
type CookieInsert struct {
	Name string `json:"name"`
	// Domain empty sends none: the cookie is for the host that was asked for.
	Domain string `json:"domain"`
	Path   string `json:"path"`
	// TTL is the Max-Age; 0 sends none: the cookie ends with the browser.
	TTL Seconds `json:"ttl"`
}

// DefaultCookie returns what cookie insertion starts with: the family's name,
// every path, the host that was asked for, and the browser's session.
func DefaultCookie() *CookieInsert { return &CookieInsert{Name: "ZENSESSIONID", Path: "/"} }

// ContinueMode says what is done with Expect: 100-continue.
type ContinueMode string

// The modes; the zero value acts as ContinuePass.
const (
	ContinuePass   ContinueMode = "pass"      // to the backend, which decides
	ContinueIgnore ContinueMode = "ignore"    // answered by us, not passed on
	ContinueSilent ContinueMode = "silent"    // passed on, its 100 is not passed back
	ContinueNever  ContinueMode = "not-allow" // refused with 417
)

// ContinueModes lists the modes.
func ContinueModes() []ContinueMode {
	return []ContinueMode{ContinuePass, ContinueIgnore, ContinueSilent, ContinueNever}
}

// Overflow says what happens to clients beyond HTTP.MaxConnections.
type Overflow string

// What happens to them; the zero value acts as OverflowWait.
const (
	OverflowWait   Overflow = "wait"   // in the listen queue, until one leaves
	OverflowRefuse Overflow = "refuse" // answered 503
)

// Overflows lists what may become of them.
func Overflows() []Overflow { return []Overflow{OverflowWait, OverflowRefuse} }
