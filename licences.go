package sluice

import _ "embed" // Licences

// Licences are the licence texts of the modules the program is made of, and of Go itself.
// `go test . -update` writes them from the module cache, and from web/node_modules.
//
//go:embed LICENCES
var Licences string

// GUILicences are those of the packages of npm that the GUI is made of.
//
//go:embed web/LICENCES
var GUILicences string
