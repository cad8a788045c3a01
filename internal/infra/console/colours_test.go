package console_test

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// colour is red, green and blue, each from 0 to 1, in amounts of light.
type colour [3]float64

func parseColour(t *testing.T, hex string) colour {
	t.Helper()
	var out colour
	for i := range out {
		n, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		v := float64(n) / 255
		if v <= 0.04045 {
			out[i] = v / 12.92
		} else {
			out[i] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return out
}

// contrast is how far apart two colours are in brightness, as WCAG 2.2 counts it.
func contrast(a, b colour) float64 {
	bright := func(c colour) float64 { return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] + 0.05 }
	x, y := bright(a), bright(b)
	return max(x, y) / min(x, y)
}

// through is a colour as a matrix of vision lets it be seen.
func (c colour) through(m [3][3]float64) colour {
	var out colour
	for i := range out {
		out[i] = min(max(m[i][0]*c[0]+m[i][1]*c[1]+m[i][2]*c[2], 0), 1)
	}
	return out
}

// apart is how different two colours look, in the units of OKLab times 100.
func apart(a, b colour) float64 {
	lab := func(c colour) [3]float64 {
		l := math.Cbrt(0.4122214708*c[0] + 0.5363325363*c[1] + 0.0514459929*c[2])
		m := math.Cbrt(0.2119034982*c[0] + 0.6806995451*c[1] + 0.1073969566*c[2])
		s := math.Cbrt(0.0883024619*c[0] + 0.2817188376*c[1] + 0.6299787005*c[2])
		return [3]float64{
			0.2104542553*l + 0.7936177850*m - 0.0040720468*s,
			1.9779984951*l - 2.4285922050*m + 0.4505937099*s,
			0.0259040371*l + 0.7827717662*m - 0.8086757660*s,
		}
	}
	x, y := lab(a), lab(b)
	return 100 * math.Sqrt((x[0]-y[0])*(x[0]-y[0])+(x[1]-y[1])*(x[1]-y[1])+(x[2]-y[2])*(x[2]-y[2]))
}

// visions are how people see who lack one kind of cone, by Machado, Oliveira and
// Fernandes (2009), and how the others do.
var visions = map[string][3][3]float64{
	"all cones":    {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deuteranopia": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"tritanopia":   {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

// TestColours_AreReadAndToldApart: in both themes texts stand out from what they stand
// on by 4.5 to 1 and marks by 3 to 1, and the colours of states differ for people who lack
// a kind of cone. A state is always a glyph and a word too.
func TestColours_AreReadAndToldApart(t *testing.T) {
	css, err := os.ReadFile("assets/patra.css")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile(`--page: [^}]*`).FindAllString(string(css), -1)
	if len(blocks) != 3 || strings.Join(strings.Fields(blocks[1]), " ") != strings.Join(strings.Fields(blocks[2]), " ") {
		t.Fatalf("wanted the colours of a light theme and twice those of a dark one, found %q", blocks)
	}
	for name, block := range map[string]string{"light": blocks[0], "dark": blocks[1]} {
		colours := map[string]colour{}
		for _, m := range regexp.MustCompile(`--([a-z]+): (#[0-9a-f]{6})`).FindAllStringSubmatch(block, -1) {
			colours[m[1]] = parseColour(t, m[2])
		}
		for _, ground := range []string{"page", "panel", "soft"} {
			for _, ink := range []string{"text", "muted", "link"} {
				if c := contrast(colours[ink], colours[ground]); c < 4.5 {
					t.Errorf("%s: %s on %s is %.2f to 1, wanted 4.5", name, ink, ground, c)
				}
			}
		}
		states := []string{"ok", "active", "partial", "failed", "waiting", "off"}
		for i, a := range states {
			if c := contrast(colours[a], colours["panel"]); c < 3 {
				t.Errorf("%s: the mark %s on a panel is %.2f to 1, wanted 3", name, a, c)
			}
			for _, b := range states[:i] {
				for vision, m := range visions {
					if d := apart(colours[a].through(m), colours[b].through(m)); d < 6 {
						t.Errorf("%s: %s and %s are %.1f apart with %s, wanted 6", name, a, b, d, vision)
					}
				}
			}
		}
		if c := contrast(colours["control"], colours["panel"]); c < 3 {
			t.Errorf("%s: the edge of a control is %.2f to 1, wanted 3", name, c)
		}
	}
}
