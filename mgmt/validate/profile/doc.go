// Package profile has the fields and rules that the farms of all profiles share: names, addresses,
// ports, backends, logs and certificates. A [Part] declares the fields of one profile.
// [Profile] is the interface of each profile; mgmt/validate registers them.
package profile
