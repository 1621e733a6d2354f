// Package sluice is what the program carries of its own repository: the notice about
// the libraries it is made with.
package sluice

import _ "embed" // Notice

// Notice names the libraries and their licences.
//
//go:embed NOTICE
var Notice string
