// Package archtest holds the tests that keep the shape of the house: who may
// import whom, and which package is the one door to a dependency. There is
// nothing in it to import.
package archtest
