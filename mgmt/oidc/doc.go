// Package oidc provides login through a provider of OpenID Connect (Core 1.0). It uses the
// authorization code flow with PKCE (RFC 7636), a state and a nonce. State and nonce are
// valid once, for ten minutes. A login in progress is sealed into a cookie of the browser
// that began it, so that logins of unknown clients need no memory here.
//
// The package returns the user that the provider has authenticated, from a claim, and the
// group that claims map to. Package mgmt/rbac decides whether that user may log in. The login
// is off by default. It connects only to https addresses, and limits the time and size of
// responses. The secret of the client is stored sealed, is never shown, and is sent only to
// the issuer it was entered for.
package oidc
