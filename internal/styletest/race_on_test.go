//go:build race

package styletest

const racing = true
