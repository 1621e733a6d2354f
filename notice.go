// Package sluice embeds files of the repository: the notice about the included libraries.
package sluice

import _ "embed" // Notice

// Notice names the libraries and their licences.
//
//go:embed NOTICE
var Notice string
