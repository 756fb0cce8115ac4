import pytest

from dslint.releases.release import KNOWN, NEWEST, OLDEST, Release, matches, parse_version


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("0.19.8", "0.19.8"),
        ("v0.17.1", "0.17.1"),
        (" 0.16.0+cu121 ", "0.16.0"),
        ("0.15.1rc1", "0.15.1"),
        ("0.15.1.dev0+abc", "0.15.1"),
        ("0.19", "0.19.0"),
        ("1.0.0.1", "1.0.0.1"),
    ],
)
def test_a_version_is_read_as_people_write_it(text, name):
    release = parse_version(text)
    assert release is not None
    assert release.name == name
    assert release.version == tuple(map(int, name.split(".")))


@pytest.mark.parametrize("text", ["", "latest", "main", "-1", ".5"])
def test_what_is_no_version_is_none(text):
    assert parse_version(text) is None


def test_all_releases_are_known_in_order():
    assert len(KNOWN) == 68
    assert list(KNOWN) == sorted(KNOWN)
    assert (OLDEST.name, NEWEST.name) == ("0.9.5", "0.19.8")


@pytest.mark.parametrize(
    ("name", "spec", "met"),
    [
        ("0.19.2", "<0.19.3", True),
        ("0.19.3", "<0.19.3", False),
        ("0.17.1", ">=0.17.1,<0.19.3", True),
        ("0.17.0", ">=0.17.1,<0.19.3", False),
        ("0.19.10", ">0.19.9", True),
        ("0.19.4", "==0.19.*", True),
        ("0.18.4", "==0.19.*", False),
        ("0.18.4", "!=0.19.*", True),
        ("0.18.4", "~=0.18.2", True),
        ("0.19.0", "~=0.18.2", False),
        ("0.19.0", "~=0.18", True),
        ("0.18.0", "==0.18", True),
        ("0.18.1", "!= 0.18.1", False),
        ("0.18.1", "<=0.18.1", True),
    ],
)
def test_a_spec_is_met_or_not(name, spec, met):
    release = parse_version(name)
    assert release is not None
    assert matches(release, spec) is met


@pytest.mark.parametrize("spec", ["", "0.19", "=>0.19", "<0.19.*", "~=1", ">=0.17.1;<0.19"])
def test_a_spec_that_says_nothing_is_an_error(spec):
    with pytest.raises(ValueError, match=r"clause|figures"):
        matches(Release((0, 19, 0), "0.19.0"), spec)
